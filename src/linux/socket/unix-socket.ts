import { Descriptor } from "../descriptor.ts";
import { AF_UNIX, SOCK_CLOEXEC, SOCK_NONBLOCK, SOCK_STREAM } from "../kernel-abi.ts";
import { syscall } from "../native.ts";

export const newSocketFlags = SOCK_NONBLOCK | SOCK_CLOEXEC;

/** Makes a stream socket by syscall, because Node's own sockets drop descriptors that arrive with a message. */
export function unixSocket(): Descriptor {
  return new Descriptor(syscall("socket", AF_UNIX, SOCK_STREAM | newSocketFlags, 0));
}

/** struct sockaddr_un for a path of at most 107 bytes. Callers reach longer paths through a descriptor of the directory (MP-7). */
export function unixAddress(path: string): Uint8Array {
  const address = Buffer.alloc(2 + Buffer.byteLength(path) + 1);
  address.writeUInt16LE(AF_UNIX, 0);
  address.write(path, 2);
  return address;
}
