/**
 * Keeps Secrets as long as DeleteVolume of a volume needs them (PR-11). Deleting a namespace deletes its claims and Secrets at the
 * same time, and without its Secret a volume could never be deleted. A finalizer delays the deletion of the Secret until the last of
 * its volumes is deleted.
 */

import { DriverError } from "../../core/errors.ts";
import { callFailures } from "../../core/failures/call-failures.ts";
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
  /** Secrets that PersistentVolumes need, by the cache. */
  neededSecrets(): ReadonlySet<SecretKey>;
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

/** One pass looks at all Secrets, so there is one key. */
const pass = "pass";
/** Batches changes: the volumes of a namespace are deleted together. */
const batchMs = 1000;
/** A pass without a change repairs what was refused, removed by hand, or left by a volume that never got its PersistentVolume. */
const resyncMs = settleMs;
/** How often a pass reads every needed Secret, and not only those that it has not seen with the finalizer yet. */
const verifyEveryMs = 6 * resyncMs;
const atOnce = 4;
/** HTTP codes of a missing right, of an admission webhook that denies, and of a full ConfigMap. Repeating the request does not help. */
const refusals: ReadonlySet<number> = new Set([400, 403, 413, 422]);

export class SecretProtection {
  readonly #dependencies: ProtectionDependencies;
  readonly #queue = new WorkQueue<typeof pass>();
  readonly #turns = new OneAtATime<SecretKey>();
  readonly #slots = new Slots(atOnce);
  readonly #problems = new ProblemLog();
  /** By volume ID: volumes that CreateVolume is creating, or has created without a PersistentVolume yet. */
  readonly #pending = new Map<string, { readonly secret: SecretKey; readonly untilMs: number }>();
  /** Secrets that this process has seen with the finalizer. They are released even if their record is lost. */
  readonly #protected = new Set<SecretKey>();
  #verifiedAtMs = 0;
  #isOff = false;

  constructor(dependencies: ProtectionDependencies) {
    this.#dependencies = dependencies;
  }

  /** Runs until the call ends. Also protects the Secrets of existing volumes. */
  async run(call: Call): Promise<void> {
    using queue = this.#queue;
    using _ = this.#dependencies.volumes.onSecretChange((change) => this.#noteChange(change));
    await this.#dependencies.volumes.synced(call);
    queue.add(pass);
    await runController(call, { queue, workers: 1, reconcile: (each) => this.#pass(each) });
  }

  /** Call it before the bucket is created. Keeps the Secret until the PersistentVolume exists, or `volumeNotCreated` is called. */
  async expectVolume(call: Call, handle: string, secret: SecretKey): Promise<void> {
    const nowMs = performance.now();
    for (const [other, { untilMs }] of this.#pending) if (untilMs <= nowMs) this.#pending.delete(other);
    this.#pending.set(handle, { secret, untilMs: nowMs + settleMs });
    await this.#turns.run(secret, () => this.#unlessRefused(call, secret, this.#protectPending(call, secret)));
  }

  /** CreateVolume is repeated for a claim that is gone: its Secret cannot be resolved again. */
  stillExpectVolume(handle: string): void {
    const pending = this.#pending.get(handle);
    if (pending !== undefined) this.#pending.set(handle, { ...pending, untilMs: performance.now() + settleMs });
  }

  volumeNotCreated(handle: string): void {
    if (this.#pending.delete(handle)) this.#queue.addLater(pass, batchMs);
  }

  #noteChange({ handle, before, after }: SecretChange): void {
    if (handle !== undefined) this.#pending.delete(handle);
    if (before !== after) this.#queue.addLater(pass, batchMs);
  }

  async #protectPending(call: Call, secret: SecretKey): Promise<void> {
    const { records, self } = this.#dependencies;
    const known = await records.read(call);
    if (known === undefined) return;
    const record = known.find((each) => each.secret === secret);
    if (record === undefined || !isRecent(record, self)) await records.write(call, [this.#newRecord(secret)]);
    const state = await this.#addFinalizer(call, secret);
    if (state !== "added") {
      throw new DriverError(
        "notReady",
        `Secret ${secret} ${state === "gone" ? "does not exist any more" : "is being deleted"}`,
        { hint: callFailures.secretBeingDeleted.fix },
      );
    }
  }

  async #pass(call: Call): Promise<Outcome> {
    const known = await this.#dependencies.records.read(call);
    this.#noteSwitch(call, known === undefined);
    if (known === undefined) return again(resyncMs);
    await this.#protectNeeded(call, known);
    return again(Math.min(resyncMs, await this.#releaseUnneeded(call, known)));
  }

  /** After the protection was off, for example during a refused uninstallation, no Secret is known to have the finalizer. */
  #noteSwitch(call: Call, isOff: boolean): void {
    if (isOff && !this.#isOff)
      call.log.info("Secrets of volumes are not protected: the ConfigMap is missing or says off");
    if (isOff || performance.now() - this.#verifiedAtMs >= verifyEveryMs) {
      this.#protected.clear();
      this.#verifiedAtMs = performance.now();
    }
    this.#isOff = isOff;
  }

  async #protectNeeded(call: Call, known: readonly SecretRecord[]): Promise<void> {
    const { records, volumes } = this.#dependencies;
    const needed = [...volumes.neededSecrets()];
    const recorded = new Set(known.map(({ secret }) => secret));
    const unrecorded = needed.filter((secret) => !recorded.has(secret)).map((secret) => this.#newRecord(secret));
    if (unrecorded.length > 0) await this.#unlessRefused(call, "records", records.write(call, unrecorded));
    // Without its record a Secret may have lost the finalizer, too: the Job of the chart removes both.
    const unseen = needed.filter((secret) => !this.#protected.has(secret) || !recorded.has(secret));
    await this.#each(call, unseen, async (secret) => {
      if (this.#isNeeded(secret)) await this.#addFinalizer(call, secret);
    });
  }

  /** Answers after how many milliseconds the next record may be released. */
  async #releaseUnneeded(call: Call, known: readonly SecretRecord[]): Promise<number> {
    const { records, neededNow, self } = this.#dependencies;
    const recorded = new Set(known.map(({ secret }) => secret));
    const lost = [...this.#protected].filter((secret) => !recorded.has(secret));
    const all = [...known, ...lost.map((secret) => ({ secret, at: new Date(0), by: self }))];
    const judged = all.map((record) => ({ record, keepMs: this.#keepForMs(record) }));
    const unneeded = judged.flatMap(({ record, keepMs }) => (keepMs === 0 ? [record] : []));
    if (unneeded.length > 0) {
      const needed = await neededNow(call);
      // Another process may have renewed a record while the volumes were listed.
      const current = new Map((await records.read(call))?.map((record) => [record.secret, record.at.valueOf()]));
      const left = unneeded.filter(
        ({ secret, at }) => !needed.has(secret) && (current.get(secret) ?? 0) <= at.valueOf(),
      );
      await this.#release(call, left);
    }
    return Math.min(...judged.flatMap(({ keepMs }) => (keepMs ? [keepMs] : [])), resyncMs);
  }

  async #release(call: Call, unneeded: readonly SecretRecord[]): Promise<void> {
    const { records } = this.#dependencies;
    const released: SecretRecord[] = [];
    const recordOf = new Map(unneeded.map((record) => [record.secret, record]));
    await this.#each(call, [...recordOf.keys()], async (secret) => {
      const record = recordOf.get(secret);
      if (record === undefined || this.#isNeeded(secret)) return; // a volume has come to need it since the list was read
      await records.release(call, secret);
      this.#protected.delete(secret);
      released.push(record);
    });
    if (released.length === 0) return;
    const renewed = await records.remove(call, released);
    await this.#each(call, renewed, async (secret) => void (await records.protect(call, secret)));
    call.log.info("released Secrets that no volume needs any more", { secrets: released.length - renewed.length });
  }

  /** A Secret that the API server refuses to change does not hold up the others. */
  async #each(call: Call, secrets: readonly SecretKey[], work: (secret: SecretKey) => Promise<void>): Promise<void> {
    await this.#slots.forEach(call, secrets, (secret) =>
      this.#turns.run(secret, () => this.#unlessRefused(call, secret, work(secret))),
    );
  }

  async #unlessRefused(call: Call, about: SecretKey | "records", work: Promise<void>): Promise<void> {
    try {
      await work;
      this.#problems.resolve(about);
    } catch (error) {
      if (!(error instanceof ApiError && refusals.has(error.code))) throw error;
      this.#problems.report(call.log, about, "failed to protect the Secret of a volume", { secret: about, error });
    }
  }

  async #addFinalizer(call: Call, secret: SecretKey): Promise<"added" | "gone" | "ending"> {
    const state = await this.#dependencies.records.protect(call, secret);
    if (state === "added") this.#protected.add(secret);
    return state;
  }

  #newRecord(secret: SecretKey): SecretRecord {
    return { secret, at: new Date(), by: this.#dependencies.self };
  }

  #keepForMs(record: SecretRecord): number | undefined {
    const pending = this.#pendingWith(record.secret).map(({ untilMs }) => untilMs - performance.now());
    if (pending.some((ms) => ms > 0)) return Math.max(...pending);
    const isNeeded = this.#dependencies.volumes.needsSecret(record.secret);
    return keepForMs({ record, isNeeded, self: this.#dependencies.self, now: new Date() });
  }

  #isNeeded(secret: SecretKey): boolean {
    const isPending = this.#pendingWith(secret).some(({ untilMs }) => untilMs > performance.now());
    return isPending || this.#dependencies.volumes.needsSecret(secret);
  }

  #pendingWith(secret: SecretKey) {
    return [...this.#pending.values()].filter((each) => each.secret === secret);
  }
}

function again(afterMs: number): Outcome {
  return { kind: "again", afterMs, because: "Secrets of volumes are looked at regularly" };
}

/** Limits writes: a burst of claims writes the record once. */
function isRecent({ at, by }: SecretRecord, self: string): boolean {
  const ageMs = Date.now() - at.valueOf();
  return by === self && ageMs >= 0 && ageMs < settleMs / 2;
}
