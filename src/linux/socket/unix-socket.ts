import { Descriptor } from "../descriptor.ts";
import { AF_UNIX, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM } from "../kernel-abi.ts";
import { syscall } from "../native.ts";

export const newSocketFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;

/** A new stream socket. Made by hand, because Node's own sockets drop descriptors that come with a message. */
export function unixSocket(): Descriptor {
  return new Descriptor(syscall("socket", AF_UNIX, SOCK_STREAM | newSocketFlags, 0));
}

/** For a path of at most 107 bytes: longer ones are reached through a descriptor of their directory (MP-7). */
export function unixAddress(path: string): Uint8Array {
  const address = Buffer.alloc(2 + Buffer.byteLength(path) + 1);
  address.writeUInt16LE(AF_UNIX, 0);
  address.write(path, 2);
  return address;
}
