/**
 * The sessions of service accounts on this node, one for each identity, however many mounts share it (ID-1, ID-2). A session is renewed from
 * the newest token that kubelet sent for any workload of the account. While STS is away, the old credentials are used until they end.
 */
import { DriverError } from "../../core/errors.ts";
import { type Identity, podIdentity } from "../../core/identity.ts";
import type { Stores } from "../../core/stores/store.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import { type Call, withFields } from "../../runtime/call.ts";
import type { Secret } from "../../runtime/secret.ts";
import type { Credentials } from "../../s3/credentials.ts";
import { hasEnded, isDue, pauseMs, type Session, sessionFrom } from "../../s3/sts/session.ts";
import type { StsClient } from "../../s3/sts/sts-client.ts";
import { claimsOf } from "../../s3/sts/web-identity-token.ts";
import type { PodAccess } from "../credentials/access.ts";
import type { RoleOfAccount } from "./account-role.ts";
import type { SessionStorage } from "./session-storage.ts";

export interface SessionParts {
  readonly stores: Stores;
  readonly sts: Pick<StsClient, "session"> & Disposable;
  readonly roleOf: RoleOfAccount;
  readonly storage: SessionStorage;
  /** The clock of the boot, which goes on while the machine is suspended and when the program is restarted. */
  readonly nowMs: () => number;
  /** Sessions are renewed as if they were no longer than this. */
  readonly sessionLimitMs: number;
}

/** What happened to the credentials of an identity. */
export type SessionChange =
  | { readonly kind: "renewed"; readonly identity: Identity; readonly wasReported: boolean }
  /** `ended`: requests to the store fail from now on. */
  | { readonly kind: "failed"; readonly identity: Identity; readonly error: Error; readonly ended: boolean };

interface Entry {
  readonly access: PodAccess;
  token: Secret | undefined;
  session: Session | undefined;
  /** Calls that are about to mount with it. */
  held: number;
  failures: number;
  /** Whether workloads were told that the credentials are not renewed. */
  isReported: boolean;
  exchange: Promise<Session> | undefined;
}

const workers = 4;

export class PodSessions implements Disposable {
  readonly #parts: SessionParts;
  readonly #entries = new Map<Identity, Entry>();
  readonly #queue = new WorkQueue<Identity>();
  readonly #listeners = new Set<(call: Call, change: SessionChange) => void>();

  constructor(parts: SessionParts) {
    this.#parts = parts;
    for (const { identity, access, session } of parts.storage.all()) {
      this.#entries.set(identity, { ...newEntry(access), session });
      this.#queue.add(identity);
    }
  }

  /**
   * Takes a token for later renewals. Until the result is disposed of, the identity is kept although no Mountpoint Pod has it yet. Makes no
   * request itself.
   */
  offer(access: PodAccess, token: Secret): Disposable {
    const identity = identityOf(access);
    const entry = this.#entries.get(identity) ?? newEntry(access);
    this.#entries.set(identity, entry);
    entry.held += 1;
    const isNewer = entry.token === undefined || claimsOf(token).endsAtSeconds > claimsOf(entry.token).endsAtSeconds;
    if (isNewer) entry.token = token;
    // The timer of a suspended machine is late, and a refused token may have been too old.
    if (entry.session !== undefined && isDue(entry.session, this.#parts.nowMs())) this.#queue.add(identity);
    return {
      [Symbol.dispose]: () => {
        entry.held -= 1;
      },
    };
  }

  /** Credentials that have not ended; undefined: there are none without a request. */
  known(access: PodAccess): Credentials | undefined {
    const session = this.#entries.get(identityOf(access))?.session;
    return session === undefined || hasEnded(session, this.#parts.nowMs()) ? undefined : session.credentials;
  }

  /** Those that are known, else new ones. Rejects with the reason if there are none. */
  async get(call: Call, access: PodAccess): Promise<Credentials> {
    const known = this.known(access);
    if (known !== undefined) return known;
    const identity = identityOf(access);
    const entry = this.#entries.get(identity);
    if (entry === undefined) throw noToken();
    const { credentials } = await orAborted(call, this.#exchanged(call, identity, entry));
    return credentials;
  }

  /** Calls the listener after every renewal and every failure that is worth a report. */
  onChange(listener: (call: Call, change: SessionChange) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** Forgets every identity that no mount needs any more. */
  keepOnly(isNeeded: (identity: Identity) => boolean): void {
    for (const [identity, { held }] of this.#entries) {
      if (held > 0 || isNeeded(identity)) continue;
      this.#entries.delete(identity);
      this.#parts.storage.remove(identity);
    }
  }

  /** Renews sessions until the call ends. */
  async run(call: Call): Promise<void> {
    await runController(call, {
      queue: this.#queue,
      workers,
      reconcile: (attempt, identity) => this.#renew(attempt, identity),
    });
  }

  [Symbol.dispose](): void {
    this.#queue[Symbol.dispose]();
    this.#parts.sts[Symbol.dispose]();
  }

  async #renew(call: Call, identity: Identity): Promise<Outcome> {
    const entry = this.#entries.get(identity);
    const session = entry?.session;
    if (entry === undefined || session === undefined) return { kind: "done" };
    const nowMs = this.#parts.nowMs();
    if (!isDue(session, nowMs)) return again(session.renewAtMs - nowMs, "the session is to be renewed then");
    try {
      await this.#exchanged(call, identity, entry);
      return { kind: "again", afterMs: 0, because: "the session was renewed" };
    } catch (error) {
      if (call.signal.aborted || !(error instanceof Error)) throw error;
      return this.#failed(call, { identity, entry, session }, error);
    }
  }

  #failed(call: Call, { identity, entry, session }: FailedRenewal, error: Error): Outcome {
    const nowMs = this.#parts.nowMs();
    const ended = hasEnded(session, nowMs);
    // What passes by itself is reported when it begins to matter. A refusal has to be mended, and there is still time for that.
    const passes = error instanceof DriverError && error.kind === "notReady";
    call.log.info("a session was not renewed", { identity, ended, error });
    if (ended || !passes) {
      entry.isReported = true;
      this.#emit(call, { kind: "failed", identity, error, ended });
    }
    const untilEndMs = ended ? Number.POSITIVE_INFINITY : session.endsAtMs - nowMs;
    return again(Math.min(pauseMs(entry.failures), untilEndMs), "the session was not renewed");
  }

  /** One request for each identity at a time. It goes on without the caller that began it: others may wait for it, too. */
  #exchanged(call: Call, identity: Identity, entry: Entry): Promise<Session> {
    if (entry.exchange !== undefined) return entry.exchange;
    const detached = withFields({ log: call.log, signal: new AbortController().signal }, { identity });
    entry.exchange = this.#exchange(detached, identity, entry).finally(() => {
      entry.exchange = undefined;
    });
    return entry.exchange;
  }

  async #exchange(call: Call, identity: Identity, entry: Entry): Promise<Session> {
    const { access, token } = entry;
    try {
      if (token === undefined) throw noToken();
      const { stores, sts, roleOf, nowMs, sessionLimitMs } = this.#parts;
      const store = stores.get(access.store);
      if (store?.sts === undefined) throw noSts(access);
      const role = access.role ?? (await roleOf(call, access.account)) ?? store.sts.roleArn;
      const { namespace, name } = access.account;
      const answer = await sts.session(call, { store, token, role, sessionName: `${namespace}.${name}` });
      const mostMs = Math.min(1000 * store.sts.sessionSeconds, sessionLimitMs);
      const session = sessionFrom(answer, { nowMs: nowMs(), mostMs, chance: Math.random() });
      this.#renewed(call, { identity, entry, session });
      return session;
    } catch (error) {
      entry.failures += 1;
      throw error;
    }
  }

  #renewed(call: Call, { identity, entry, session }: FailedRenewal): void {
    const wasReported = entry.isReported;
    entry.failures = 0;
    entry.isReported = false;
    entry.session = session;
    // The last mount with this identity may have gone meanwhile.
    if (this.#entries.get(identity) !== entry) return;
    this.#parts.storage.write({ identity, access: entry.access, session });
    call.log.info("a session was started", {
      identity,
      lifeSeconds: Math.round((session.endsAtMs - this.#parts.nowMs()) / 1000),
    });
    this.#queue.addLater(identity, session.renewAtMs - this.#parts.nowMs());
    this.#emit(call, { kind: "renewed", identity, wasReported });
  }

  #emit(call: Call, change: SessionChange): void {
    for (const listener of this.#listeners) listener(call, change);
  }
}

interface FailedRenewal {
  readonly identity: Identity;
  readonly entry: Entry;
  readonly session: Session;
}

function newEntry(access: PodAccess): Entry {
  return {
    access,
    token: undefined,
    session: undefined,
    held: 0,
    failures: 0,
    isReported: false,
    exchange: undefined,
  };
}

function identityOf({ account, role, store }: PodAccess): Identity {
  return podIdentity(account, role, store);
}

function again(afterMs: number, because: string): Outcome {
  return { kind: "again", afterMs: Math.max(afterMs, 0), because };
}

/** kubelet's next call is at most 90 s away. */
function noToken(): DriverError {
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
