/** What the node plugin knows about one identity: the best token, and the session that was made from one. */
import { type Identity, podIdentity } from "../../core/identity.ts";
import type { Secret } from "../../runtime/secret.ts";
import type { Session } from "../../s3/sts/session.ts";
import { claimsOf } from "../../s3/sts/web-identity-token.ts";
import type { PodAccess } from "../credentials/access.ts";

/** The role that the service account named when it was last read; `role` is undefined if it named none. */
export interface AccountRole {
  readonly role: string | undefined;
}

export interface SessionEntry {
  readonly access: PodAccess;
  token: Secret | undefined;
  /** Tokens that STS refused since the last session, the newest last. */
  refusedTokens: readonly Secret[];
  /** undefined: the service account was not read yet. */
  accountRole: AccountRole | undefined;
  session: Session | undefined;
  /** When a session was last started; undefined: not by this process. */
  startedAtMs: number | undefined;
  /** Calls that are about to mount with it. */
  held: number;
  failures: number;
  /** Before this moment only a better token makes another attempt worth while. */
  retryAtMs: number;
  /** Whether workloads were told that the credentials are not renewed. */
  isReported: boolean;
  exchange: Promise<Session> | undefined;
}

export function newEntry(access: PodAccess): SessionEntry {
  return {
    access,
    token: undefined,
    refusedTokens: [],
    accountRole: undefined,
    session: undefined,
    startedAtMs: undefined,
    held: 0,
    failures: 0,
    retryAtMs: 0,
    isReported: false,
    exchange: undefined,
  };
}

export function identityOf({ account, role, store }: PodAccess): Identity {
  return podIdentity(account, role, store);
}

/**
 * Of the tokens of an account the one that ends last is the best, but any other is better than one that STS refused: that one may have the
 * longest life, and would block the whole account.
 */
export function takeToken(entry: SessionEntry, token: Secret): void {
  if (!isBetterToken(entry, token)) return;
  entry.token = token;
  entry.retryAtMs = 0;
}

function isBetterToken({ token: known, refusedTokens }: SessionEntry, token: Secret): boolean {
  if (known === undefined) return true;
  const isRefused = (one: Secret) => refusedTokens.some((refused) => refused.equals(one));
  if (isRefused(token)) return false;
  return isRefused(known) || claimsOf(token).endsAtSeconds > claimsOf(known).endsAtSeconds;
}

/** Replicas of a workload have a token each. More than a node has Pods of one account, and few enough to compare. */
const mostRefusedTokens = 100;

export function noteRefusal(entry: SessionEntry, token: Secret): void {
  const others = entry.refusedTokens.filter((refused) => !refused.equals(token));
  entry.refusedTokens = [...others, token].slice(-mostRefusedTokens);
}

/** A request to STS and its answer take less, on a slow store. */
const lastChanceMs = 20_000;

/**
 * When the session is to be renewed. kubelet sends no more tokens for a Pod that is being terminated, whose last writes may take longer than
 * the session: while the last token is still good, it starts a session that lasts as long as possible. Other Pods get a new token
 * before the old one ends, so this costs no request for them.
 */
export function dueAtMs({ session, startedAtMs = -Infinity, token }: SessionEntry, clocks: Clocks): number {
  const renewAtMs = session?.renewAtMs ?? 0;
  if (token === undefined) return renewAtMs;
  const tokenEndsAtMs = clocks.nowMs + 1000 * claimsOf(token).endsAtSeconds - clocks.wallMs;
  const lastChanceAtMs = tokenEndsAtMs - lastChanceMs;
  const isTaken = startedAtMs >= lastChanceAtMs || clocks.nowMs >= tokenEndsAtMs;
  return isTaken ? renewAtMs : Math.min(renewAtMs, lastChanceAtMs);
}

interface Clocks {
  /** The clock of the boot, in which sessions are counted. */
  readonly nowMs: number;
  /** The clock by which the API server dates tokens. */
  readonly wallMs: number;
}
