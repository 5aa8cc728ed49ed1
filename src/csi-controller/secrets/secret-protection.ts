/**
 * Keeps Secrets as long as DeleteVolume of a volume needs them (PR-11). Deleting a namespace deletes its claims and Secrets at the
 * same time, and without its Secret a volume could never be deleted. A finalizer delays the deletion of the Secret until the last of
 * its volumes is deleted.
 */
import { keepForMs, type SecretKey, type SecretRecord, settleMs } from "../../core/protected-secrets.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { Call } from "../../runtime/call.ts";
import { OneAtATime } from "../../runtime/one-at-a-time.ts";
import { Slots } from "../../runtime/slots.ts";
import type { SecretRecords } from "./secret-records.ts";

export interface VolumeSecrets {
  synced(call: Call): Promise<void>;
  needsSecret(secret: SecretKey): boolean;
  /** Called for every change of a PersistentVolume. */
  onSecretChange(listener: (change: SecretChange) => void): Disposable;
}

export interface SecretChange {
  /** Handle of the changed PersistentVolume; undefined: it was deleted. */
  readonly handle: string | undefined;
  /** The Secret that it needs, before and after the change. */
  readonly before: SecretKey | undefined;
  readonly after: SecretKey | undefined;
}

export interface ProtectionDependencies {
  readonly records: SecretRecords;
  readonly volumes: VolumeSecrets;
  /** Secrets that PersistentVolumes need, listed from the API server: a cache may be minutes old. */
  readonly neededNow: (call: Call) => Promise<ReadonlySet<SecretKey>>;
  /** Identifies this process among its predecessors and other replicas. */
  readonly self: string;
}

/** Queue key for the release of all unneeded Secrets. It cannot be a SecretKey, which contains a slash. */
const releases = "releases";
/** Batches the deletions of a namespace's volumes, so that the PersistentVolumes are listed once for all of them. */
const batchMs = 1000;
const workers = 4;
/** HTTP codes for a missing right and for a full ConfigMap; the code for the latter depends on its size. */
const refusals: ReadonlySet<number> = new Set([403, 413, 422]);

export class SecretProtection {
  readonly #dependencies: ProtectionDependencies;
  readonly #queue = new WorkQueue<SecretKey | typeof releases>();
  readonly #turns = new OneAtATime<SecretKey>();
  /** By volume ID: volumes that CreateVolume is creating, or has created without a PersistentVolume yet. */
  readonly #pending = new Map<string, { readonly secret: SecretKey; readonly untilMs: number }>();
  readonly #problems = new ProblemLog();
  readonly #slots = new Slots(workers);

  constructor(dependencies: ProtectionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Runs until the call ends. Also protects the Secrets of existing volumes. */
  async run(call: Call): Promise<void> {
    using queue = this.#queue;
    using _ = this.#dependencies.volumes.onSecretChange((change) => this.#noteChange(change));
    await this.#dependencies.volumes.synced(call);
    queue.add(releases);
    await runController(call, { queue, workers, reconcile: (each, key) => this.#reconcile(each, key) });
  }

  /** Call it before the bucket is created. Keeps the Secret until the PersistentVolume exists, or `volumeNotCreated` is called. */
  async expectVolume(call: Call, handle: string, secret: SecretKey): Promise<void> {
    const nowMs = performance.now();
    for (const [other, { untilMs }] of this.#pending) if (untilMs <= nowMs) this.#pending.delete(other);
    this.#pending.set(handle, { secret, untilMs: nowMs + settleMs });
    await this.#protect(call, secret);
  }

  volumeNotCreated(handle: string): void {
    if (this.#pending.delete(handle)) this.#queue.addLater(releases, batchMs);
  }

  #noteChange({ handle, before, after }: SecretChange): void {
    if (handle !== undefined) this.#pending.delete(handle);
    if (before === after) return;
    if (after !== undefined) this.#queue.add(after);
    if (before !== undefined) this.#queue.addLater(releases, batchMs);
  }

  async #reconcile(call: Call, key: SecretKey | typeof releases): Promise<Outcome> {
    if (key === releases) return await this.#releaseUnneeded(call);
    if (this.#isNeeded(key)) await this.#protect(call, key);
    return { kind: "done" };
  }

  /** A refusal of the API server is logged and does not fail CreateVolume. */
  async #protect(call: Call, secret: SecretKey): Promise<void> {
    await this.#turns.run(secret, async () => {
      try {
        await this.#record(call, secret);
        this.#problems.resolve("protect");
      } catch (error) {
        if (!(error instanceof ApiError && refusals.has(error.code))) throw error;
        this.#problems.report(call.log, "protect", "failed to protect the Secret of a volume", { secret, error });
      }
    });
  }

  async #record(call: Call, secret: SecretKey): Promise<void> {
    const { records, self } = this.#dependencies;
    const known = await records.read(call);
    if (known === undefined) return;
    const record = known.find((each) => each.secret === secret);
    if (record === undefined || (this.#isPending(secret) && !isRecent(record, self))) {
      await records.write(call, { secret, at: new Date(), by: self });
    }
    const result = await records.protect(call, secret);
    if (result !== "added") call.log.info("the Secret of a volume is gone or being deleted", { secret, state: result });
  }

  async #releaseUnneeded(call: Call): Promise<Outcome> {
    const known = (await this.#dependencies.records.read(call)) ?? [];
    const judged = known.map((record) => ({ record, keepMs: this.#keepForMs(record) }));
    const unneeded = judged.filter(({ keepMs }) => keepMs === 0).map(({ record }) => record);
    if (unneeded.length > 0) {
      const needed = await this.#dependencies.neededNow(call);
      const left = unneeded.filter(({ secret }) => !needed.has(secret));
      await this.#slots.forEach(call, left, (record) => this.#release(call, record));
    }
    const delays = judged.flatMap(({ keepMs }) => (keepMs ? [keepMs] : []));
    if (delays.length === 0) return { kind: "done" };
    return {
      kind: "again",
      afterMs: Math.min(...delays),
      because: "csi-provisioner may still create the PersistentVolume",
    };
  }

  async #release(call: Call, record: SecretRecord): Promise<void> {
    const { records } = this.#dependencies;
    const { secret } = record;
    await this.#turns.run(secret, async () => {
      if (this.#isNeeded(secret)) return; // a volume has come to need it since the list was read
      await records.release(call, secret);
      if (await records.remove(call, record))
        call.log.info("released a Secret that no volume needs any more", { secret });
      else await records.protect(call, secret);
    });
  }

  #keepForMs(record: SecretRecord): number | undefined {
    const pending = this.#pendingWith(record.secret).map(({ untilMs }) => untilMs - performance.now());
    if (pending.some((ms) => ms > 0)) return Math.max(...pending);
    const isNeeded = this.#dependencies.volumes.needsSecret(record.secret);
    return keepForMs({ record, isNeeded, self: this.#dependencies.self, now: new Date() });
  }

  #isNeeded(secret: SecretKey): boolean {
    return this.#isPending(secret) || this.#dependencies.volumes.needsSecret(secret);
  }

  #isPending(secret: SecretKey): boolean {
    return this.#pendingWith(secret).some(({ untilMs }) => untilMs > performance.now());
  }

  #pendingWith(secret: SecretKey) {
    return [...this.#pending.values()].filter((each) => each.secret === secret);
  }
}

/** Limits writes: a burst of claims writes the record once. */
function isRecent({ at, by }: SecretRecord, self: string): boolean {
  const ageMs = Date.now() - at.valueOf();
  return by === self && ageMs >= 0 && ageMs < settleMs / 2;
}
