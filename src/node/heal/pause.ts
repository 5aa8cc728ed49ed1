import { orAborted } from "../../kube/or-aborted.ts";
import type { Call } from "../../runtime/call.ts";

/** Between two attempts, longer after each failure. News end it early, but attempts that fail must not chase each other. */
export async function pause(call: Call, news: Promise<void>, failures: number): Promise<void> {
  const shortestMs = Math.min(50 * 2 ** failures, 5000);
  const longestMs = Math.min(1000 * 2 ** failures, 60_000);
  await orAborted(call, Promise.all([elapsed(call, shortestMs), Promise.race([news, elapsed(call, longestMs)])])).catch(
    () => undefined, // the end of the program: the loop looks
  );
}

function elapsed(call: Call, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  timer.unref();
  call.signal.addEventListener("abort", () => clearTimeout(timer), { once: true });
  return promise;
}
