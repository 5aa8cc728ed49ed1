import { constants } from "node:fs";
import type { Call } from "../../runtime/call.ts";
import { isErrno, unlessErrno } from "../../runtime/errno.ts";
import { type Descriptor, openPath } from "../descriptor.ts";
import { deviceOf } from "../device-of.ts";
import { FUSE_SUPER_MAGIC, statfsBytes } from "../kernel-abi.ts";
import { detachedSyscall } from "../native.ts";

/** What one request to the server of a mount tells about it. */
export type Health =
  | "serving"
  /** The server is gone: whoever looks in gets ENOTCONN. */
  | "dead"
  /** No answer in time: not started yet, hung, or slow. */
  | "hung"
  /** No FUSE mount is there. */
  | "absent";

/**
 * Asks the server of a FUSE mount for one answer (statfs). The question blocks until the server answers or dies, and
 * cannot be taken back: so there is at most one per mount, on a thread of its own, and later askers wait for the same.
 */
export class Prober {
  /** By device. A waiting question keeps its mount alive, so the kernel cannot give the number to another one. */
  readonly #asked = new Map<string, Set<Tell>>();

  /** Ends with "hung" at the limit; the call's signal only stops the waiting. */
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
      listeners.delete(resolve); // a mount that hangs for days is asked about many times
    }
  }

  /** Those who wait for the answer about this mount; the question is asked if nobody did yet. */
  #ask(mountPoint: string): Set<Tell> | undefined {
    using stack = new DisposableStack();
    const root = openRoot(mountPoint);
    if (root === undefined) return undefined;
    stack.use(root);
    const device = deviceOf(root);
    const pending = this.#asked.get(device);
    if (pending !== undefined) return pending;
    const listeners = new Set<Tell>();
    this.#asked.set(device, listeners);
    stack.move(); // the question owns the descriptor now
    const answer = statfs(root);
    const spread = () => {
      this.#asked.delete(device);
      for (const tell of listeners) tell(answer);
    };
    answer.then(spread, spread);
    return listeners;
  }
}

type Tell = (answer: Promise<Health>) => void;

function openRoot(path: string): Descriptor | undefined {
  return unlessErrno(["ENOENT"], () => openPath(path, constants.O_DIRECTORY));
}

async function statfs(root: Descriptor): Promise<Health> {
  using _closedAfterTheAnswer = root;
  return await askServer(root);
}

/** For a mount that no path of ours leads to. Nobody may close the descriptor before the answer, which may never come. */
export async function askServer(root: Descriptor): Promise<Health> {
  const answer = Buffer.alloc(statfsBytes);
  try {
    await detachedSyscall("fstatfs", root.fd, answer);
  } catch (error) {
    // ENOTCONN: no server. ECONNABORTED: it went while we asked. ECONNREFUSED: it failed in its first message.
    if (isErrno(error, "ENOTCONN", "ECONNABORTED", "ECONNREFUSED")) return "dead";
    throw error;
  }
  return answer.readUInt32LE(0) === FUSE_SUPER_MAGIC ? "serving" : "absent";
}
