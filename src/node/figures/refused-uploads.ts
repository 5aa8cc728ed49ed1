/** Tells workloads that their store takes no files, and which setting helps if it does not know trailing checksums (ID-5). */
import type { PodName } from "../../core/names.ts";
import { defaultStore, type StoreName } from "../../core/stores/store.ts";
import type { EventRecorder } from "../../kube/events.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import { emitOnUsers } from "../heal/emit-on-users.ts";
import { lookRegularly } from "../mounts/look-regularly.ts";
import type { MountRecord, MountRecords } from "../records/mount-records.ts";
import type { FigureReceivers } from "./figure-receivers.ts";
import type { VolumeFigures } from "./volume-figures.ts";

interface Parts {
  readonly receivers: Pick<FigureReceivers, "figures">;
  readonly records: MountRecords;
  readonly events: Pick<EventRecorder, "record">;
}

/** The answers of stores that do not know trailing checksums: "not implemented", and "bad request" of Scality CloudServer. */
const refusal = /^,operation="(PutObject|CreateMultipartUpload|UploadPart)",code="(400|501)"$/;

/** Runs until the call ends. Figures arrive every 15 s, so a refusal is told at most 20 s later. */
export async function reportRefusedUploads(call: Call, parts: Parts, progress: Pulses): Promise<void> {
  const refusals = new RefusedUploads(parts);
  await lookRegularly(call, progress, "refused uploads", () => refusals.look(call));
}

export class RefusedUploads {
  readonly #parts: Parts;
  /** Refusals that were told, for each mount. */
  readonly #told = new Map<PodName, number>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  look(call: Call): void {
    const figures = new Map(this.#parts.receivers.figures);
    for (const name of this.#told.keys()) if (!figures.has(name)) this.#told.delete(name);
    for (const [name, ofVolume] of figures) this.#lookAt(call, name, ofVolume);
  }

  #lookAt(call: Call, name: PodName, figures: VolumeFigures): void {
    const { records, events } = this.#parts;
    const refused = figures.named("s3_errors_total").filter(({ labels }) => refusal.test(labels));
    const count = refused.reduce((sum, { value }) => sum + value, 0);
    const before = this.#told.get(name) ?? 0;
    this.#told.set(name, count);
    const record = records.get(name);
    if (count <= before || record === undefined || sendsNoChecksums(record)) return;
    const [, operation, code] = refusal.exec(refused[0]?.labels ?? "") ?? [];
    const { store } = record.access;
    const targets = records.uses.flatMap(({ target, holder }) => (holder === name ? [target] : []));
    emitOnUsers(call, { records, events }, targets, {
      reason: "UploadsRefused",
      message: `Store ${store} answered ${operation} with HTTP status ${code}: files that are written are lost. Stores that do not know trailing checksums answer so`,
      fix: fixAt(store),
    });
  }
}

function sendsNoChecksums({ request: { args } }: MountRecord): boolean {
  return args.includes("--upload-checksums=off");
}

function fixAt(store: StoreName): string {
  const value = store === defaultStore ? "s3.uploadChecksums" : `s3.stores.${store}.uploadChecksums`;
  return `If this store is one of them, set the chart value ${value} or the mount option upload-checksums to off, and restart the Pod: empty files are lost then. Otherwise see the log of the Mountpoint Pod.`;
}
