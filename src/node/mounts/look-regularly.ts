import { setTimeout as delay } from "node:timers/promises";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";

/** Reading the mount table takes less than a millisecond; looks do more only for Pods that have ended. */
const lookEveryMs = 5000;

/** Looks until the call ends. A look that fails is logged and repeated with the next one. */
export async function lookRegularly(call: Call, progress: Pulses, what: string, look: () => void): Promise<void> {
  const turned = progress.pulse(`looking for ${what}`);
  const problems = new ProblemLog();
  while (!call.signal.aborted) {
    turned();
    try {
      look();
      problems.resolve(what);
    } catch (error) {
      problems.report(call.log, what, `could not look for ${what}`, { error });
    }
    // Rejects only when the call ends.
    await delay(lookEveryMs, undefined, { signal: call.signal, ref: false }).catch(() => undefined);
  }
}
