/** The node's side of a Mountpoint Pod's socket: sends one message with one descriptor, then waits for the end of mount-s3. */
import { fstatSync } from "node:fs";
import { Socket } from "node:net";
import { DriverError } from "../../core/errors.ts";
import { type Descriptor, openPath } from "../descriptor.ts";
import type { Directory } from "../directory.ts";
import { SHUT_WR } from "../kernel-abi.ts";
import { sendDescriptor, syscall } from "../native.ts";
import { unixAddress, unixSocket } from "./unix-socket.ts";

/**
 * Connects to a socket in a directory. ENOENT and ECONNREFUSED mean that no process listens yet. The socket file is opened without
 * following links and then addressed by its descriptor, because connect(2) by name follows links.
 */
export function connect(directory: Directory, name: string): FdSender {
  using file = openPath(directory.pathOf(name));
  if (!fstatSync(file.fd).isSocket()) throw new DriverError("denied", `${name} is not a socket`);
  using socket = unixSocket();
  const address = unixAddress(`/proc/self/fd/${file.fd}`);
  syscall("connect", socket.fd, address, address.length);
  return new FdSender(socket.release());
}

/** A connection to a mounter. It does not keep the event loop alive. */
export class FdSender implements Disposable {
  readonly #fd: number;
  readonly #socket: Socket;
  #disposed = false;

  /**
   * Resolves when the connection has ended. After `send` to a mounter of this version, "byPeer" means that mount-s3, which inherited
   * the other end, has died. A mounter of 2.x closes its end as soon as it has read the message.
   */
  readonly closed: Promise<"byPeer" | "byUs">;

  constructor(fd: number) {
    this.#fd = fd;
    this.#socket = new Socket({ fd, readable: true, writable: false });
    this.#socket.on("error", () => undefined); // "close" follows a reset, too
    const { promise, resolve } = Promise.withResolvers<"byPeer" | "byUs">();
    this.#socket.once("close", () => resolve(this.#disposed ? "byUs" : "byPeer"));
    this.closed = promise;
    this.#socket.resume();
    this.#socket.unref();
  }

  /**
   * Sends the message and shuts down the write side, because the receiver reads to end-of-file. The receiver gets its own copy of
   * the descriptor. A message that fits into the socket's buffer (208 KiB by default) never waits for the receiver.
   */
  send(message: Uint8Array, descriptor: Descriptor): void {
    if (this.#socket.destroyed) throw new DriverError("notReady", "the Mountpoint Pod closed its socket");
    const sent = sendDescriptor(this.#fd, message, descriptor.fd);
    if (sent < message.length) throw new Error(`the socket took only ${sent} of ${message.length} bytes`);
    syscall("shutdown", this.#fd, SHUT_WR);
  }

  [Symbol.dispose](): void {
    this.#disposed ||= !this.#socket.destroyed;
    this.#socket.destroy();
  }
}
