/**
 * How many requests the API server gets from this process, as TCP limits its packets: half as many after a refusal (429, 503, 504 or
 * no answer), one more per round of accepted ones. No sockets and no clock here, so every reaction is a row of a table in the test.
 */
export interface ServerLoad {
  /** How many requests may be in progress at the same time. Grows by fractions. */
  readonly limit: number;
  /** No request starts before this moment. */
  readonly notBeforeMs: number;
  /** Rounds of refused requests since the last accepted request. They decide the pause before the next round. */
  readonly refusals: number;
  /** When the last round was counted. Requests that started before then belong to that round. */
  readonly countedAtMs: number;
}

/** More than the workers of reconciler and node plugin, so that they are not limited while the server accepts requests. */
export const mostAtOnce = 96;
const firstPauseMs = 100;
/** The longest pause that a server gets without asking for it: also how late its recovery may be noticed. */
const longestPauseMs = 5000;
/** A longer Retry-After is not believed. Those of API Priority and Fairness are 1 to 32 seconds. */
const longestRetryAfterMs = 60_000;

export const unloaded: ServerLoad = {
  limit: mostAtOnce,
  notBeforeMs: -Infinity,
  refusals: 0,
  countedAtMs: -Infinity,
};

export interface Refusal {
  /** When the request started, and when its refusal arrived. */
  readonly startedAtMs: number;
  readonly atMs: number;
  /** Requests in progress at the time of the refusal, the refused one included. */
  readonly inProgress: number;
  /** What the server asks for. */
  readonly retryAfterMs: number | undefined;
  /** In [0, 1). Spreads the clients of one server over time. */
  readonly random: number;
}

export function accepted(load: ServerLoad): ServerLoad {
  return { ...load, limit: Math.min(load.limit + 1 / load.limit, mostAtOnce), refusals: 0 };
}

export function refused(load: ServerLoad, refusal: Refusal): ServerLoad {
  const { startedAtMs, atMs, inProgress } = refusal;
  // The requests of one round are refused together. They say once, and not sixty times, that there are too many.
  const counted = startedAtMs <= load.countedAtMs ? load : halved(load, inProgress, atMs);
  const notBeforeMs = atMs + Math.max(pauseMs(counted.refusals, refusal.random), askedForMs(refusal));
  return { ...counted, notBeforeMs: Math.max(notBeforeMs, load.notBeforeMs) };
}

export function mayStart({ limit, notBeforeMs }: ServerLoad, inProgress: number, nowMs: number): boolean {
  return inProgress < Math.floor(limit) && nowMs >= notBeforeMs;
}

function halved(load: ServerLoad, inProgress: number, atMs: number): ServerLoad {
  const limit = Math.max(1, Math.floor(Math.min(load.limit, inProgress) / 2));
  return { ...load, limit, refusals: load.refusals + 1, countedAtMs: atMs };
}

function pauseMs(refusals: number, random: number): number {
  const full = Math.min(firstPauseMs * 2 ** Math.max(0, refusals - 1), longestPauseMs);
  return Math.round((full * (1 + random)) / 2);
}

/** Up to a fifth more: clients that are all told the same must not come back at the same moment. */
function askedForMs({ retryAfterMs = 0, random }: Refusal): number {
  return Math.round(Math.min(retryAfterMs, longestRetryAfterMs) * (1 + random / 5));
}
