import type { Call } from "./call.ts";

/** Resolves after a time, or earlier when the call ends: that is no failure, and the caller looks at the signal. */
export function elapsed({ signal }: Pick<Call, "signal">, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) {
    resolve();
    return promise;
  }
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    resolve();
  };
  const timer = setTimeout(end, ms);
  signal.addEventListener("abort", end);
  return promise;
}

/** Resolves when the call ends. */
export function ended({ signal }: Pick<Call, "signal">): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener("abort", () => resolve(), { once: true });
  return promise;
}
