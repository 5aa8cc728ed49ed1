/** Which waiting Mountpoint Pods the processes of a story have claimed for volumes (WM-1): no write shows that before the attachment. */
import { WarmPool } from "../../src/reconciler/warm/pool.ts";
import { currentProcess, type SimulatedProcess } from "./process.ts";

const claims = new WeakMap<SimulatedProcess, Set<string>>();

/** In all of its terms. */
export function claimedBy(process: SimulatedProcess): ReadonlySet<string> {
  return claims.get(process) ?? new Set();
}

/** Records claims until it is disposed of. */
export function recordedClaims(): Disposable {
  const claim = Reflect.get(WarmPool.prototype, "claim");
  WarmPool.prototype.claim = function (this: WarmPool, name, ...others) {
    const process = currentProcess();
    if (process !== undefined) claims.set(process, new Set([...claimedBy(process), name]));
    claim.call(this, name, ...others);
  };
  return {
    [Symbol.dispose]: () => {
      WarmPool.prototype.claim = claim;
    },
  };
}
