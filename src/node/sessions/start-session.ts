/** One exchange of a service account token for a session (ID-1). */
import { DriverError } from "../../core/errors.ts";
import type { Stores } from "../../core/stores/store.ts";
import type { Call } from "../../runtime/call.ts";
import { type Session, sessionFrom } from "../../s3/sts/session.ts";
import type { SessionRequest, StsClient, TemporaryCredentials } from "../../s3/sts/sts-client.ts";
import type { PodAccess } from "../credentials/access.ts";
import type { RoleOfAccount } from "./account-role.ts";
import { noteRefusal, type SessionEntry } from "./session-entry.ts";
import { type IssuedBy, issuerOf } from "./session-storage.ts";

export interface ExchangeParts {
  readonly stores: Stores;
  readonly sts: Pick<StsClient, "session">;
  readonly roleOf: RoleOfAccount;
  /** The clock of the boot, which goes on while the machine is suspended and when the program is restarted. */
  readonly nowMs: () => number;
  /** Sessions are renewed as if they were no longer than this. */
  readonly sessionLimitMs: number;
}

export interface StartedSession {
  readonly session: Session;
  readonly issuedBy: IssuedBy;
}

/** Rejects with the party that refused. Notes in the entry which role the account names, and which token STS refused. */
export async function startSession(call: Call, parts: ExchangeParts, entry: SessionEntry): Promise<StartedSession> {
  const { access, token } = entry;
  if (token === undefined) throw noToken();
  const store = parts.stores.get(access.store);
  const issuedBy = store && issuerOf(store);
  if (store?.sts === undefined || issuedBy === undefined) throw noSts(access);
  const role = access.role ?? (await roleOfAccount(call, parts, entry)) ?? store.sts.roleArn;
  const { namespace, name } = access.account;
  const request = { store, token, role, sessionName: `${namespace}.${name}` };
  const answer = await exchanged(call, parts, entry, request);
  const mostMs = Math.min(1000 * store.sts.sessionSeconds, parts.sessionLimitMs);
  const session = sessionFrom(answer, { nowMs: parts.nowMs(), mostMs, chance: Math.random() });
  return { session, issuedBy };
}

/** While the API server is away, the role that the account named last: an outage must not end mounts that STS would go on serving. */
async function roleOfAccount(call: Call, { roleOf }: ExchangeParts, entry: SessionEntry): Promise<string | undefined> {
  try {
    const role = await roleOf(call, entry.access.account);
    entry.accountRole = { role };
    return role;
  } catch (error) {
    if (entry.accountRole === undefined || !passes(error)) throw error;
    call.log.info("the service account cannot be read; its last role is used", { error });
    return entry.accountRole.role;
  }
}

async function exchanged(
  call: Call,
  { sts }: ExchangeParts,
  entry: SessionEntry,
  request: SessionRequest,
): Promise<TemporaryCredentials> {
  try {
    return await sts.session(call, request);
  } catch (error) {
    if (!passes(error)) noteRefusal(entry, request.token);
    throw error;
  }
}

/** Whether the failure passes by itself. A refusal has to be mended by somebody. */
export function passes(error: unknown): boolean {
  return error instanceof DriverError && error.kind === "notReady";
}

/** kubelet's next call is at most 90 s away. */
export function noToken(): DriverError {
  return new DriverError("notReady", "kubelet has sent no service account token yet", {
    hint: "No action is needed: kubelet repeats its call within 90 seconds and brings one.",
  });
}

function noSts({ store }: PodAccess): DriverError {
  const value = store === "default" ? "s3.sts" : `s3.stores.${store}.sts`;
  return new DriverError("invalid", `store ${store} has no STS endpoint any more`, {
    hint: `Set the chart value ${value}.endpointUrl.`,
  });
}
