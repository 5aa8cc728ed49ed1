import { Descriptor } from "../descriptor.ts";
import { O_CLOEXEC } from "../kernel-abi.ts";
import { syscall } from "../native.ts";

/**
 * Returns the read end of a pipe for a child process. Guarantees that the child reads end-of-file only when the last thread of this
 * process has ended. The write end is a plain descriptor that only the kernel closes; Node would close a pipe of its own with
 * the event loop, while a thread may still wait for a file system.
 */
export function lifeline(): Descriptor {
  const ends = Buffer.alloc(8); // two of type int
  syscall("pipe2", ends, O_CLOEXEC);
  return new Descriptor(ends.readInt32LE(0));
}
