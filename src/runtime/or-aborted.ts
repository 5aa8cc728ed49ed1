import type { Call } from "./call.ts";

/**
 * Settles like the promise, or rejects with the reason of the abort, whichever comes first. Leaves no listener on the signal.
 * Does not stop the work behind the promise: that must watch the signal itself.
 *
 * The promise gets a handler at once, also if the call is aborted already: Node ends a process in which a rejection has no handler.
 */
export async function orAborted<T>(call: Call, promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  call.signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(call.signal.reason);
  call.signal.addEventListener("abort", abort);
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    call.signal.removeEventListener("abort", abort);
  }
}
