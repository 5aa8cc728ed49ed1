/**
 * Keeps the Secrets that the deletion of volumes needs. Deleting a namespace deletes its claims and its Secrets at the same time,
 * and without its Secret a volume could never be deleted (PR-11). A finalizer holds the Secret back until the last of its volumes is gone.
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

export interface NeedsOfVolumes {
  synced(call: Call): Promise<void>;
  needSecret(secret: SecretKey): boolean;
  /** The Secret that a volume needs, before and after every change, and the handle of the volume that has it now. */
  onSecretChange(listener: (change: SecretChange) => void): Disposable;
}

export interface SecretChange {
  readonly handle: string | undefined;
  readonly before: SecretKey | undefined;
  readonly after: SecretKey | undefined;
}

export interface ProtectionParts {
  readonly records: SecretRecords;
  readonly volumes: NeedsOfVolumes;
  /** Secrets that PersistentVolumes need, read from the API server now: a cache may be minutes old. */
  readonly neededNow: (call: Call) => Promise<ReadonlySet<SecretKey>>;
  /** Tells this process from its predecessors and from other replicas. */
  readonly self: string;
}

/** Not a reference to a Secret, which has a slash. */
const releases = "releases";
/** Claims of a namespace go together: their Secrets are looked at together. */
const gatherMs = 1000;
const workers = 4;
/** A right is missing, or the ConfigMap is full: what the API server says to a larger one depends on its size. */
const refusals: ReadonlySet<number> = new Set([403, 413, 422]);

export class SecretProtection {
  readonly #parts: ProtectionParts;
  readonly #queue = new WorkQueue<SecretKey | typeof releases>();
  readonly #turns = new OneAtATime<SecretKey>();
  /** Volumes that are being made, or were made and have no PersistentVolume yet. */
  readonly #coming = new Map<string, { readonly secret: SecretKey; readonly untilMs: number }>();
  readonly #problems = new ProblemLog();
  readonly #slots = new Slots(workers);

  constructor(parts: ProtectionParts) {
    this.#parts = parts;
  }

  /** Until the call ends. Secrets of volumes that exist already are protected, too. */
  async follow(call: Call): Promise<void> {
    using queue = this.#queue;
    using _ = this.#parts.volumes.onSecretChange((change) => this.#noteChange(change));
    await this.#parts.volumes.synced(call);
    queue.add(releases);
    await runController(call, { queue, workers, reconcile: (each, key) => this.#reconcile(each, key) });
  }

  /** Before a bucket is made. The Secret is kept until the volume has its PersistentVolume, or none was made. */
  async expectVolume(call: Call, handle: string, secret: SecretKey): Promise<void> {
    const nowMs = performance.now();
    for (const [other, { untilMs }] of this.#coming) if (untilMs <= nowMs) this.#coming.delete(other);
    this.#coming.set(handle, { secret, untilMs: nowMs + settleMs });
    await this.#protect(call, secret);
  }

  noVolumeMade(handle: string): void {
    if (this.#coming.delete(handle)) this.#queue.addLater(releases, gatherMs);
  }

  #noteChange({ handle, before, after }: SecretChange): void {
    if (handle !== undefined) this.#coming.delete(handle);
    if (before === after) return;
    if (after !== undefined) this.#queue.add(after);
    if (before !== undefined) this.#queue.addLater(releases, gatherMs);
  }

  async #reconcile(call: Call, key: SecretKey | typeof releases): Promise<Outcome> {
    if (key === releases) return await this.#releaseUnneeded(call);
    if (this.#isNeeded(key)) await this.#protect(call, key);
    return { kind: "done" };
  }

  /** Where the API server refuses it, volumes are made all the same. */
  async #protect(call: Call, secret: SecretKey): Promise<void> {
    await this.#turns.run(secret, async () => {
      try {
        await this.#record(call, secret);
        this.#problems.resolve("protect");
      } catch (error) {
        if (!(error instanceof ApiError && refusals.has(error.code))) throw error;
        this.#problems.report(call.log, "protect", "Secrets of volumes cannot be protected", { secret, error });
      }
    });
  }

  async #record(call: Call, secret: SecretKey): Promise<void> {
    const { records, self } = this.#parts;
    const known = await records.read(call);
    if (known === undefined) return;
    const record = known.find((each) => each.secret === secret);
    if (record === undefined || (this.#isComing(secret) && !isRecent(record, self))) {
      await records.write(call, { secret, at: new Date(), by: self });
    }
    const result = await records.protect(call, secret);
    if (result !== "added") call.log.info("the Secret of a volume cannot be protected", { secret, because: result });
  }

  async #releaseUnneeded(call: Call): Promise<Outcome> {
    const known = (await this.#parts.records.read(call)) ?? [];
    const judged = known.map((record) => ({ record, keepMs: this.#keepForMs(record) }));
    const unneeded = judged.filter(({ keepMs }) => keepMs === 0).map(({ record }) => record);
    if (unneeded.length > 0) {
      const needed = await this.#parts.neededNow(call);
      const left = unneeded.filter(({ secret }) => !needed.has(secret));
      await this.#slots.forEach(call, left, (record) => this.#release(call, record));
    }
    const delays = judged.flatMap(({ keepMs }) => (keepMs ? [keepMs] : []));
    if (delays.length === 0) return { kind: "done" };
    return { kind: "again", afterMs: Math.min(...delays), because: "a volume may still come" };
  }

  async #release(call: Call, record: SecretRecord): Promise<void> {
    const { records } = this.#parts;
    const { secret } = record;
    await this.#turns.run(secret, async () => {
      if (this.#isNeeded(secret)) return; // since the list was read
      await records.release(call, secret);
      if (await records.remove(call, record)) call.log.info("no volume needs the Secret any more", { secret });
      else await records.protect(call, secret);
    });
  }

  #keepForMs(record: SecretRecord): number | undefined {
    const coming = this.#comingOf(record.secret).map(({ untilMs }) => untilMs - performance.now());
    if (coming.some((ms) => ms > 0)) return Math.max(...coming);
    const isNeeded = this.#parts.volumes.needSecret(record.secret);
    return keepForMs({ record, isNeeded, self: this.#parts.self, now: new Date() });
  }

  #isNeeded(secret: SecretKey): boolean {
    return this.#isComing(secret) || this.#parts.volumes.needSecret(secret);
  }

  #isComing(secret: SecretKey): boolean {
    return this.#comingOf(secret).some(({ untilMs }) => untilMs > performance.now());
  }

  #comingOf(secret: SecretKey) {
    return [...this.#coming.values()].filter((each) => each.secret === secret);
  }
}

/** A burst of claims writes the record once. */
function isRecent({ at, by }: SecretRecord, self: string): boolean {
  const ageMs = Date.now() - at.valueOf();
  return by === self && ageMs >= 0 && ageMs < settleMs / 2;
}
