import { Descriptor } from "../descriptor.ts";
import { O_CLOEXEC } from "../kernel-abi.ts";
import { syscall } from "../native.ts";

/**
 * A descriptor for a child process that reads the end of file when this process has really ended: its last thread, not its
 * first. The other end is a plain number that nobody closes but the kernel; a pipe of Node's own would be closed when the
 * event loop ends, while a thread of the process may still wait for a file system.
 */
export function lifeline(): Descriptor {
  const ends = Buffer.alloc(8); // two of type int
  syscall("pipe2", ends, O_CLOEXEC);
  return new Descriptor(ends.readInt32LE(0));
}
