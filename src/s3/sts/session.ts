/** A session of STS: temporary credentials, and when to renew them. Pure; times are of the clock of the boot. */
import type { Credentials } from "../credentials.ts";
import type { TemporaryCredentials } from "./sts-client.ts";

export interface Session {
  readonly credentials: Credentials;
  readonly endsAtMs: number;
  /** From here on a third of its life is left, which an outage of STS may take without anybody noticing (ID-2). */
  readonly renewAtMs: number;
}

export interface Beginning {
  readonly nowMs: number;
  /** How long the session was asked to last: an answer that says more is not believed. */
  readonly mostMs: number;
  /** From 0 to 1, so that the sessions of many nodes are not renewed at the same moment. */
  readonly chance: number;
}

/** An STS whose sessions have ended when it hands them out must not be asked all the time. */
const soonestRenewalMs = 10_000;

export function sessionFrom({ credentials, lifeMs }: TemporaryCredentials, begun: Beginning): Session {
  const { nowMs, mostMs, chance } = begun;
  const wholeMs = Math.min(lifeMs, mostMs);
  const untilRenewalMs = Math.max(wholeMs * (2 / 3 - chance / 10), soonestRenewalMs);
  return { credentials, endsAtMs: nowMs + wholeMs, renewAtMs: nowMs + untilRenewalMs };
}

export function hasEnded({ endsAtMs }: Session, nowMs: number): boolean {
  return nowMs >= endsAtMs;
}

export function isDue({ renewAtMs }: Session, nowMs: number): boolean {
  return nowMs >= renewAtMs;
}

const shortestPauseMs = 1000;
/** A store that was away is asked again soon after it is back. */
const longestPauseMs = 30_000;

/** How long to wait after so many failures in a row. */
export function pauseMs(failures: number): number {
  return Math.min(shortestPauseMs * 2 ** Math.min(failures - 1, 10), longestPauseMs);
}
