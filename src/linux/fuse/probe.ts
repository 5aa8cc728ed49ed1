import { constants } from "node:fs";
import type { Call } from "../../runtime/call.ts";
import { isErrno, unlessErrno } from "../../runtime/errno.ts";
import { type Descriptor, openPath } from "../descriptor.ts";
import { deviceOf } from "../device-of.ts";
import { FUSE_SUPER_MAGIC, statfsBytes } from "../kernel-abi.ts";
import { detachedSyscall } from "../native.ts";

/** The result of one request to the server of a mount. */
export type Health =
  | "serving"
  /** The server is gone: every access returns ENOTCONN. */
  | "dead"
  /** No answer within the limit: the server has not started yet, hangs, or is slow. */
  | "hung"
  /** There is no FUSE mount. */
  | "absent";

/**
 * Sends one statfs request to the server of a FUSE mount. The request blocks until the server answers or dies and cannot be
 * cancelled. So there is at most one per mount, on a thread of its own, and later callers wait for the same request.
 */
export class Prober {
  /** Key: device. A waiting request keeps its mount alive, so the kernel does not reuse the number. */
  readonly #pending = new Map<string, Set<Listener>>();

  /** Resolves to "hung" at the limit. The call's signal ends the wait, not the request. */
  async probe(call: Call, mountPoint: string, limitMs: number): Promise<Health> {
    call.signal.throwIfAborted();
    const listeners = this.#ask(mountPoint);
    if (listeners === undefined) return "absent";
    const { promise, resolve, reject } = Promise.withResolvers<Health>();
    const timer = setTimeout(() => resolve("hung"), limitMs);
    const stop = () => reject(call.signal.reason);
    call.signal.addEventListener("abort", stop, { once: true });
    listeners.add(resolve);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      call.signal.removeEventListener("abort", stop);
      listeners.delete(resolve); // a mount that hangs for days is probed many times
    }
  }

  /** The listeners for the answer of this mount; sends the request if none is waiting. undefined: there is no directory. */
  #ask(mountPoint: string): Set<Listener> | undefined {
    using stack = new DisposableStack();
    const root = openRoot(mountPoint);
    if (root === undefined) return undefined;
    stack.use(root);
    const device = deviceOf(root);
    const pending = this.#pending.get(device);
    if (pending !== undefined) return pending;
    const listeners = new Set<Listener>();
    this.#pending.set(device, listeners);
    stack.move(); // the request owns the descriptor now
    const answer = statfs(root);
    const notify = () => {
      this.#pending.delete(device);
      for (const listener of listeners) listener(answer);
    };
    answer.then(notify, notify);
    return listeners;
  }
}

type Listener = (answer: Promise<Health>) => void;

function openRoot(path: string): Descriptor | undefined {
  return unlessErrno(["ENOENT"], () => openPath(path, constants.O_DIRECTORY));
}

async function statfs(root: Descriptor): Promise<Health> {
  using _closedAfterTheAnswer = root;
  return await askServer(root);
}

/**
 * Sends one statfs request by descriptor, for a mount in another namespace. The caller must keep the descriptor open until the
 * answer, which may never come.
 */
export async function askServer(root: Descriptor): Promise<Health> {
  const answer = Buffer.alloc(statfsBytes);
  try {
    await detachedSyscall("fstatfs", root.fd, answer);
  } catch (error) {
    // ENOTCONN: no server. ECONNABORTED: the server died during the request. ECONNREFUSED: its FUSE_INIT failed.
    if (isErrno(error, "ENOTCONN", "ECONNABORTED", "ECONNREFUSED")) return "dead";
    throw error;
  }
  return answer.readUInt32LE(0) === FUSE_SUPER_MAGIC ? "serving" : "absent";
}
