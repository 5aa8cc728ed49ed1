import type { Call } from "../../runtime/call.ts";
import { elapsed } from "../../runtime/elapsed.ts";

/** Exponential back-off between two attempts. `wake` shortens it to a minimum that grows with each failure, too. */
export async function pause(call: Call, wake: Promise<void>, failures: number): Promise<void> {
  const shortestMs = Math.min(50 * 2 ** failures, 5000);
  const longestMs = Math.min(1000 * 2 ** failures, 60_000);
  await Promise.all([elapsed(call, shortestMs), Promise.race([wake, elapsed(call, longestMs)])]);
}
