import { pollfdBytes } from "../kernel-abi.ts";
import { detachedSyscall } from "../native.ts";

/**
 * Waits on a detached thread until a descriptor has one of these events: Node's event loop cannot poll a descriptor without reading
 * from it. The wait cannot be cancelled and does not keep the event loop alive.
 */
export async function waitUntilReady(fd: number, events: number): Promise<void> {
  const pollfd = Buffer.alloc(pollfdBytes);
  pollfd.writeInt32LE(fd, 0);
  pollfd.writeInt16LE(events, 4);
  await detachedSyscall("ppoll", pollfd, 1, undefined, undefined, 0);
}
