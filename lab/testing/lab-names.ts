/** Names of the labs of one test run. Two runs on a machine, from two checkouts, must not take each other's labs away. */
import type { Ring } from "./rings.ts";

/** Such as `node-1-4711`, with the process of the run. */
export function labNames(
  ring: Extract<Ring, "cluster" | "node" | "stores" | "matrix">,
  count: number,
  pid = process.pid,
): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${ring}-${index + 1}-${pid}`);
}

/** Labs of runs that were killed before they could end them. */
export function abandoned(names: readonly string[], isRunning: (pid: number) => boolean): readonly string[] {
  return names.filter((name) => {
    const [, pid] = /^(?:cluster|node|stores|matrix)-\d+-(\d+)$/.exec(name) ?? [];
    return pid !== undefined && !isRunning(Number(pid));
  });
}
