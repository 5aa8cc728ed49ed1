import type { Call } from "../runtime/call.ts";

/**
 * The promise, or the reason for which the call was aborted; leaves no listener on the call's signal.
 *
 * The promise has a handler from the first moment, also when the call is over already: its work was started before we
 * could look, and Node ends a process in which a rejection has no handler.
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
