/**
 * The sessions of service accounts on this node, one for each identity, however many mounts share it (ID-1, ID-2). A session is renewed from
 * the newest token that kubelet sent for any workload of the account. While STS is away, the old credentials are used until they end.
 */
import type { Identity } from "../../core/identity.ts";
import type { StoreName } from "../../core/stores/store.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import { type Call, withFields } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import type { Secret } from "../../runtime/secret.ts";
import type { Credentials } from "../../s3/credentials.ts";
import { hasEnded, pauseMs, type Session } from "../../s3/sts/session.ts";
import type { PodAccess } from "../credentials/access.ts";
import { dueAtMs, identityOf, newEntry, type SessionEntry, takeToken } from "./session-entry.ts";
import type { SessionStorage } from "./session-storage.ts";
import { type ExchangeParts, noToken, passes, type StartedSession, startSession } from "./start-session.ts";

export interface SessionParts extends ExchangeParts {
  readonly sts: ExchangeParts["sts"] & Disposable;
  readonly storage: SessionStorage;
}

/** What happened to the credentials of an identity. */
export type SessionChange =
  | { readonly kind: "renewed"; readonly identity: Identity; readonly wasReported: boolean }
  /** `ended`: requests to the store fail from now on. */
  | { readonly kind: "failed"; readonly identity: Identity; readonly error: Error; readonly ended: boolean };

/**
 * What needs a session on this node. `workload`: a workload uses a mount with these credentials, which must be renewed even if nothing is
 * known about them. `mountpointPod`: a mount may begin or end; a session is kept, but none is started.
 */
export type SessionNeed = "workload" | "mountpointPod" | "nothing";

/** For each store, so that an STS that does not answer delays the sessions of no other store. */
const workers = 4;

export class PodSessions implements Disposable {
  readonly #parts: SessionParts;
  readonly #entries = new Map<Identity, SessionEntry>();
  readonly #queues: ReadonlyMap<StoreName, WorkQueue<Identity>>;
  readonly #listeners = new Set<(call: Call, change: SessionChange) => void>();
  /** Ends the requests that go on without a caller. */
  readonly #end = new AbortController();

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#queues = new Map(Array.from(parts.stores.keys(), (store) => [store, new WorkQueue<Identity>()]));
    for (const { identity, access, session, accountRole } of parts.storage.usable(parts.stores, parts.nowMs())) {
      this.#entries.set(identity, { ...newEntry(access), session, accountRole });
    }
    this.recheck();
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
    takeToken(entry, token);
    // The timer of a suspended machine is late, and a refused token may have been too old.
    if (entry.session !== undefined && this.#untilDueMs(entry) <= 0) this.#queueFor(entry)?.add(identity);
    return {
      [Symbol.dispose]: () => {
        entry.held -= 1;
        // The last Mountpoint Pod may have gone meanwhile, or the call has found a mount whose session is not known.
        if (entry.held === 0) this.#queueFor(entry)?.add(identity);
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

  /** Something may not be needed any more. */
  recheck(): void {
    for (const [identity, entry] of this.#entries) this.#queueFor(entry)?.add(identity);
  }

  /** Renews sessions that are needed and forgets the others, until the call ends. */
  async run(call: Call, needOf: (identity: Identity) => SessionNeed): Promise<void> {
    const reconcile = (attempt: Call, identity: Identity) => this.#reconcile(attempt, identity, needOf(identity));
    await Promise.all(Array.from(this.#queues.values(), (queue) => runController(call, { queue, workers, reconcile })));
  }

  /** For how long none of the loops has made progress although it should. */
  get stalledMs(): number {
    return Math.max(...Array.from(this.#queues.values(), ({ stalledMs }) => stalledMs));
  }

  [Symbol.dispose](): void {
    this.#end.abort(new Error("the program ends"));
    for (const queue of this.#queues.values()) queue[Symbol.dispose]();
    this.#parts.sts[Symbol.dispose]();
  }

  #queueFor({ access }: SessionEntry): WorkQueue<Identity> | undefined {
    return this.#queues.get(access.store);
  }

  async #reconcile(call: Call, identity: Identity, need: SessionNeed): Promise<Outcome> {
    const entry = this.#entries.get(identity);
    if (entry === undefined) return { kind: "done" };
    if (need === "nothing" && entry.held === 0) return this.#forget(identity);
    const { session } = entry;
    // A call that is about to mount asks for its session itself, and reports why there is none.
    if (session === undefined && need !== "workload") return { kind: "done" };
    const waitMs = this.#untilDueMs(entry);
    if (waitMs > 0) return again(waitMs, "the session is to be renewed then");
    return await this.#renew(call, identity, entry);
  }

  #untilDueMs(entry: SessionEntry): number {
    const nowMs = this.#parts.nowMs();
    return Math.max(dueAtMs(entry, { nowMs, wallMs: Date.now() }), entry.retryAtMs) - nowMs;
  }

  async #renew(call: Call, identity: Identity, entry: SessionEntry): Promise<Outcome> {
    const { session } = entry;
    try {
      // A request that is not answered must not hold up the end of the program.
      await orAborted(call, this.#exchanged(call, identity, entry));
      return { kind: "again", afterMs: 0, because: "the session was renewed" };
    } catch (error) {
      if (call.signal.aborted || !(error instanceof Error)) throw error;
      return this.#failed(call, { identity, entry, session }, error);
    }
  }

  #forget(identity: Identity): Outcome {
    this.#entries.delete(identity);
    this.#parts.storage.remove(identity);
    return { kind: "done" };
  }

  #failed(call: Call, { identity, entry, session }: FailedRenewal, error: Error): Outcome {
    const nowMs = this.#parts.nowMs();
    const ended = session !== undefined && hasEnded(session, nowMs);
    // What passes by itself is reported when it begins to matter, which may be now if the end is not known. A refusal has to be mended, and
    // there is still time for that.
    const matters = ended || session === undefined;
    call.log.info("a session was not renewed", { identity, ended, error });
    if (matters || !passes(error)) {
      entry.isReported = true;
      this.#emit(call, { kind: "failed", identity, error, ended });
    }
    const untilEndMs = matters ? Number.POSITIVE_INFINITY : session.endsAtMs - nowMs;
    const retryMs = Math.min(pauseMs(entry.failures), untilEndMs);
    entry.retryAtMs = nowMs + retryMs;
    return again(retryMs, "the session was not renewed");
  }

  /** One request for each identity at a time. It goes on without the caller that began it: others may wait for it, too. */
  #exchanged(call: Call, identity: Identity, entry: SessionEntry): Promise<Session> {
    if (entry.exchange !== undefined) return entry.exchange;
    const detached = withFields({ log: call.log, signal: this.#end.signal }, { identity });
    entry.exchange = this.#exchange(detached, identity, entry).finally(() => {
      entry.exchange = undefined;
    });
    return entry.exchange;
  }

  async #exchange(call: Call, identity: Identity, entry: SessionEntry): Promise<Session> {
    try {
      const started = await startSession(call, this.#parts, entry);
      this.#renewed(call, identity, entry, started);
      return started.session;
    } catch (error) {
      entry.failures += 1;
      throw error;
    }
  }

  #renewed(call: Call, identity: Identity, entry: SessionEntry, { session, issuedBy }: StartedSession): void {
    call.signal.throwIfAborted();
    const wasReported = entry.isReported;
    entry.failures = 0;
    entry.retryAtMs = 0;
    entry.isReported = false;
    entry.session = session;
    entry.startedAtMs = this.#parts.nowMs();
    entry.refusedTokens = [];
    // The last mount with this identity may have gone meanwhile.
    if (this.#entries.get(identity) !== entry) return;
    const { access, accountRole } = entry;
    this.#parts.storage.write({ identity, access, session, issuedBy, accountRole });
    call.log.info("a session was started", {
      identity,
      lifeSeconds: Math.round((session.endsAtMs - this.#parts.nowMs()) / 1000),
    });
    this.#queueFor(entry)?.addLater(identity, session.renewAtMs - this.#parts.nowMs());
    this.#emit(call, { kind: "renewed", identity, wasReported });
  }

  #emit(call: Call, change: SessionChange): void {
    for (const listener of this.#listeners) listener(call, change);
  }
}

interface FailedRenewal {
  readonly identity: Identity;
  readonly entry: SessionEntry;
  readonly session: Session | undefined;
}

function again(afterMs: number, because: string): Outcome {
  return { kind: "again", afterMs: Math.max(afterMs, 0), because };
}
