/** Decides when the node plugin gives up a mount that does not answer. Pure: the clock is an argument. */

/** A mount that has not answered since `sinceMs`, and the CPU time of its mount-s3 at that moment. */
export interface Hang {
  readonly sinceMs: number;
  /** undefined: the process was not visible. */
  readonly cpuNs: number | undefined;
}

export interface HangSeen {
  readonly nowMs: number;
  readonly cpuNs: number | undefined;
  /** 0: a mount is never given up. */
  readonly limitMs: number;
}

export interface HangJudgement {
  readonly hang: Hang;
  readonly giveUp: boolean;
}

/**
 * Silence alone is no hang: a slow or unreachable object store can block all threads of mount-s3, and giving up the mount then
 * destroys uploads. The timers of mount-s3 still run in that case (5 ms of CPU in 20 s were measured). So mount-s3 has hung
 * only if it used no CPU time at all. A process that is not visible is not considered hung.
 */
export function judgeHang(before: Hang | undefined, { nowMs, cpuNs, limitMs }: HangSeen): HangJudgement {
  const isSame = before !== undefined && cpuNs !== undefined && before.cpuNs === cpuNs;
  if (!isSame) return { hang: { sinceMs: nowMs, cpuNs }, giveUp: false };
  return { hang: before, giveUp: limitMs > 0 && nowMs - before.sinceMs >= limitMs };
}
