/** The mounter's side of its socket: accepts connections and reads one message to its end, with the descriptors in it. */
import { renameSync, rmSync } from "node:fs";
import { DriverError } from "../../core/errors.ts";
import type { Call } from "../../runtime/call.ts";
import { Descriptor } from "../descriptor.ts";
import type { Directory } from "../directory.ts";
import { F_SETFD, FD_CLOEXEC, POLLIN, SHUT_RDWR } from "../kernel-abi.ts";
import { receiveDescriptors, syscall } from "../native.ts";
import { waitUntilReady } from "./poll.ts";
import { newSocketFlags, unixAddress, unixSocket } from "./unix-socket.ts";

/**
 * Listens on a socket in a directory. Guarantees that the name appears only when the socket accepts connections, so a client that
 * waits for the name connects at the first attempt. Replaces the file of a predecessor that was killed (MP-8).
 */
export function listen(directory: Directory, name: string): FdReceiver {
  using undo = new DisposableStack();
  const path = directory.pathOf(name);
  const unfinished = directory.pathOf(`.${name}.new`);
  rmSync(unfinished, { force: true });
  const socket = undo.use(unixSocket());
  const address = unixAddress(unfinished);
  syscall("bind", socket.fd, address, address.length);
  undo.defer(() => rmSync(unfinished, { force: true }));
  syscall("listen", socket.fd, 1);
  renameSync(unfinished, path);
  undo.move();
  return new FdReceiver(socket, path);
}

/** Accepts connections on a socket that another program has bound to this name and listens on. Takes over the descriptor. */
export function adopt(socket: Descriptor, directory: Directory, name: string): FdReceiver {
  syscall("fcntl", socket.fd, F_SETFD, FD_CLOEXEC);
  return new FdReceiver(socket, directory.pathOf(name));
}

interface Message {
  readonly bytes: Buffer;
  readonly descriptors: readonly Descriptor[];
}

export class FdReceiver implements Disposable {
  readonly #socket: Descriptor;
  readonly #path: string;

  constructor(socket: Descriptor, path: string) {
    this.#socket = socket;
    this.#path = path;
  }

  async accept(call: Call): Promise<Descriptor> {
    await readable(call, this.#socket);
    return new Descriptor(syscall("accept4", this.#socket.fd, undefined, undefined, newSocketFlags));
  }

  /** Stops listening and removes the file. The shutdown wakes a thread that still waits for a connection. */
  [Symbol.dispose](): void {
    syscall("shutdown", this.#socket.fd, SHUT_RDWR);
    this.#socket[Symbol.dispose]();
    rmSync(this.#path, { force: true });
  }
}

/** Reads until the sender shuts down its direction. The caller must close the received descriptors. */
export async function readToEnd(call: Call, connection: Descriptor, limitBytes: number): Promise<Message> {
  using undo = new DisposableStack();
  const parts: Buffer[] = [];
  const descriptors: Descriptor[] = [];
  for (let total = 0; total <= limitBytes; ) {
    await readable(call, connection);
    const part = Buffer.alloc(limitBytes + 1 - total);
    const fds: number[] = [];
    const length = receiveDescriptors(connection.fd, part, fds);
    for (const fd of fds) descriptors.push(undo.use(new Descriptor(fd)));
    if (length === 0) {
      undo.move();
      return { bytes: Buffer.concat(parts), descriptors };
    }
    parts.push(part.subarray(0, length));
    total += length;
  }
  throw new DriverError("invalid", `the message is longer than ${limitBytes} bytes`);
}

async function readable(call: Call, { fd }: Descriptor): Promise<void> {
  call.signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const stop = () => reject(call.signal.reason);
  call.signal.addEventListener("abort", stop, { once: true });
  waitUntilReady(fd, POLLIN).then(resolve, reject);
  await promise.finally(() => call.signal.removeEventListener("abort", stop));
}
