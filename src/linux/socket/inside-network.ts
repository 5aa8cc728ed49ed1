/** Sockets in the network namespace of another process. */
import { openSync, readlinkSync } from "node:fs";
import { join } from "node:path/posix";
import { Descriptor } from "../descriptor.ts";
import { AF_INET, CLONE_NEWNET, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET } from "../kernel-abi.ts";
import { detachedSyscalls, syscall } from "../native.ts";
import { newSocketFlags } from "./unix-socket.ts";

/** The network namespace of a process. Throws ENOENT if the process has ended. */
export function networkOf(proc: string, pid: number): Descriptor {
  return new Descriptor(openSync(join(proc, String(pid), "ns/net"), "r"));
}

/** Identifies the network namespace of a process, as in `net:[4026531840]`. Throws ENOENT if the process has ended. */
export function networkIdOf(proc: string, pid: number): string {
  return readlinkSync(join(proc, String(pid), "ns/net"));
}

/**
 * A TCP socket that is bound to a port of the loopback address in a network namespace; nobody listens on it yet. A socket belongs to
 * the namespace of the thread that made it, and stays there. Only processes in that namespace reach its loopback address.
 */
export async function loopbackSocket(namespace: Descriptor, port: number): Promise<Descriptor> {
  const made = await detachedSyscalls(
    ["setns", namespace.fd, CLONE_NEWNET],
    ["socket", AF_INET, SOCK_STREAM | newSocketFlags, 0],
  );
  using undo = new DisposableStack();
  const socket = undo.use(new Descriptor(made));
  const on = Buffer.alloc(4);
  on.writeInt32LE(1, 0);
  // A node plugin that is restarted finds connections of its predecessor in TIME_WAIT.
  syscall("setsockopt", socket.fd, SOL_SOCKET, SO_REUSEADDR, on, on.length);
  const address = loopbackAddress(port);
  syscall("bind", socket.fd, address, address.length);
  undo.move();
  return socket;
}

/** struct sockaddr_in of 127.0.0.1: the family in the byte order of the machine, port and address in that of the network. */
function loopbackAddress(port: number): Uint8Array {
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(port, 2);
  address.writeUInt32BE(0x7f000001, 4);
  return address;
}
