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
  /** The last token that STS refused. */
  refusedToken: Secret | undefined;
  /** undefined: the service account was not read yet. */
  accountRole: AccountRole | undefined;
  session: Session | undefined;
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
    refusedToken: undefined,
    accountRole: undefined,
    session: undefined,
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

function isBetterToken({ token: known, refusedToken }: SessionEntry, token: Secret): boolean {
  if (known === undefined) return true;
  if (refusedToken?.equals(token)) return false;
  return refusedToken?.equals(known) === true || claimsOf(token).endsAtSeconds > claimsOf(known).endsAtSeconds;
}
