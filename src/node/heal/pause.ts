import type { Call } from "../../runtime/call.ts";
import { elapsed } from "../../runtime/elapsed.ts";

/** Between two attempts, longer after each failure. News end it early, but attempts that fail must not chase each other. */
export async function pause(call: Call, wake: Promise<void>, failures: number): Promise<void> {
  const shortestMs = Math.min(50 * 2 ** failures, 5000);
  const longestMs = Math.min(1000 * 2 ** failures, 60_000);
  await Promise.all([elapsed(call, shortestMs), Promise.race([wake, elapsed(call, longestMs)])]);
}
