import type { Logger } from "./log.ts";

/** What every effectful function takes first: how to stop, and where to speak. */
export interface Call {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** When the caller stops listening, by our clock; absent where nobody said so. */
  readonly endsAtMs?: number;
}

/** A child call that aborts with a reason a human can act on. */
export function deadline(call: Call, ms: number, waitingFor: string): Call & Disposable {
  const clock = new AbortController();
  const timer = setTimeout(() => {
    clock.abort(new DOMException(`gave up after ${ms} ms waiting for ${waitingFor}`, "TimeoutError"));
  }, ms);
  return {
    log: call.log,
    signal: AbortSignal.any([call.signal, clock.signal]),
    ...endOf(call),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

/** The same call, speaking with more context in every line. */
export function withFields(call: Call, fields: Readonly<Record<string, unknown>>): Call {
  return { signal: call.signal, log: call.log.with(fields), ...endOf(call) };
}

/** Not all of a call: what is disposable about it belongs to whoever made it. */
function endOf({ endsAtMs }: Call): Pick<Call, "endsAtMs"> {
  return endsAtMs === undefined ? {} : { endsAtMs };
}
