import { pollfdBytes } from "../kernel-abi.ts";
import { detachedSyscall } from "../native.ts";

/**
 * Waits on a thread of its own until the kernel has something to say about a descriptor: Node's event loop offers no way
 * to watch one without reading from it. Nothing can end the wait early, and it does not keep the program alive.
 */
export async function waitUntilReady(fd: number, events: number): Promise<void> {
  const question = Buffer.alloc(pollfdBytes);
  question.writeInt32LE(fd, 0);
  question.writeInt16LE(events, 4);
  await detachedSyscall("ppoll", question, 1, undefined, undefined, 0);
}
