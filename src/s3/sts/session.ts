/** A session of STS: temporary credentials, and when to renew them. Pure; times are of the clock of the boot. */
import type { Credentials } from "../credentials.ts";
import type { TemporaryCredentials } from "./sts-client.ts";

export interface Session {
  readonly credentials: Credentials;
  readonly endsAtMs: number;
  /** From here on more than a third of its life is left, so that an outage of STS for a third is not noticed (ID-2). */
  readonly renewAtMs: number;
}

export interface Beginning {
  readonly nowMs: number;
  /** How long the session was asked to last: an answer that says more is not believed. */
  readonly mostMs: number;
  /** From 0 to 1, so that the sessions of many nodes are not renewed at the same moment. */
  readonly chance: number;
}

/**
 * When STS is back after a third of a session's life, it is asked again within 40 s (an answer may take 10 s, a pause 30 s), and mount-s3 takes
 * new credentials within 30 s. Of a session of 15 minutes that is less than a twelfth.
 */
const latestRenewal = 7 / 12;

/** An STS whose sessions have ended when it hands them out must not be asked all the time. */
const soonestRenewalMs = 10_000;

export function sessionFrom({ credentials, lifeMs }: TemporaryCredentials, begun: Beginning): Session {
  const { nowMs, mostMs, chance } = begun;
  const wholeMs = Math.min(lifeMs, mostMs);
  const untilRenewalMs = Math.max(Math.floor(wholeMs * (latestRenewal - chance / 10)), soonestRenewalMs);
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
