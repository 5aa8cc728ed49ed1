import type { Logger } from "./log.ts";

/** The first parameter of every effectful function: how to stop it, and where it logs. */
export interface Call {
  readonly signal: AbortSignal;
  readonly log: Logger;
  /** When the deadline of the caller passes, in milliseconds of `Date.now()`. Absent if the caller has no deadline. */
  readonly endsAtMs?: number;
}

/** A child call that is aborted after `ms`, with a reason that names what the call was waiting for. */
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

/** The same call with more fields in every log line. */
export function withFields(call: Call, fields: Readonly<Record<string, unknown>>): Call {
  return { signal: call.signal, log: call.log.with(fields), ...endOf(call) };
}

/** Not a copy of the whole call: a deadline is disposable, and only the code that made it may dispose of it. */
function endOf({ endsAtMs }: Call): Pick<Call, "endsAtMs"> {
  return endsAtMs === undefined ? {} : { endsAtMs };
}
