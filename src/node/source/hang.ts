/** When a mount that does not answer is given up. Pure: a clock and what was seen go in. */

/** A mount that has not answered since then, whose mount-s3 had used this much processor time. */
export interface Hang {
  readonly sinceMs: number;
  /** undefined: its process could not be seen. */
  readonly cpuNs: number | undefined;
}

export interface HangSeen {
  readonly nowMs: number;
  readonly cpuNs: number | undefined;
  /** 0: never. */
  readonly limitMs: number;
}

export interface HangJudgement {
  readonly hang: Hang;
  readonly giveUp: boolean;
}

/**
 * Not answering is not enough: a store that is slow or away can keep all threads of mount-s3 from answering us, and to
 * give that up would destroy uploads. Its timers still run then (5 ms in 20 s were seen). So only a process that does
 * nothing at all has hung, and one that nobody can see has not.
 */
export function judgeHang(before: Hang | undefined, { nowMs, cpuNs, limitMs }: HangSeen): HangJudgement {
  const isSame = before !== undefined && cpuNs !== undefined && before.cpuNs === cpuNs;
  if (!isSame) return { hang: { sinceMs: nowMs, cpuNs }, giveUp: false };
  return { hang: before, giveUp: limitMs > 0 && nowMs - before.sinceMs >= limitMs };
}
