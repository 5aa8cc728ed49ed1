/** Reports data that is kept although its volume is deleted: an event on the PersistentVolume, a log line and a metric. */
import { defaultStore, type StoreName } from "../core/stores/store.ts";
import type { EventRecorder } from "../kube/events.ts";
import { kinds } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";
import type { CachedVolume } from "./cached-volume.ts";
import type { CsiControllerMetrics } from "./metrics.ts";

export interface KeptData {
  readonly store: StoreName;
  readonly bucket: string;
  readonly prefix: string | undefined;
  readonly reason: KeptReason;
  /** undefined: no PersistentVolume has the handle, and there is no object for an event. */
  readonly volume: CachedVolume | undefined;
}

/** Value of the tag `kept` and of the metric's label: do not rename. */
export type KeptReason = "policy" | "notEmpty";

export type ReportKeptData = (call: Call, kept: KeptData) => void;

/** More than csi-provisioner deletes between a call and its repetition. */
const rememberedVolumes = 1000;

/**
 * Reports each volume once: csi-provisioner may repeat DeleteVolume after it has succeeded, while its cache still has the
 * PersistentVolume.
 */
export function keptDataReporter(events: Pick<EventRecorder, "record">, metrics: CsiControllerMetrics): ReportKeptData {
  const reported = new Set<string>();
  return (call, { volume, ...kept }) => {
    const { store, bucket, prefix, reason } = kept;
    const key = JSON.stringify([store, bucket, prefix]);
    if (reported.has(key)) return;
    reported.add(key);
    const [oldest] = reported;
    if (reported.size > rememberedVolumes && oldest !== undefined) reported.delete(oldest);
    const message = messageFor(kept);
    metrics.keptBuckets.inc({ because: reason });
    call.log.info("kept the data of a deleted volume", { reason, message });
    if (volume === undefined) return;
    const event = { reason: reason === "policy" ? "BucketRetained" : "BucketKept", message } as const;
    events.record(call, { kind: kinds.persistentVolumes, metadata: volume }, event);
  };
}

function messageFor({ store, bucket, prefix, reason }: Omit<KeptData, "volume">): string {
  const name = store === defaultStore ? bucket : `${bucket} on store ${store}`;
  const data = prefix === undefined ? `Bucket ${name}` : `The data below ${prefix} in bucket ${name}`;
  if (reason === "policy") return `${data} is kept: deletePolicy of its StorageClass is retain`;
  return `${data} is kept, because it still holds data. Remove it by hand when it is no longer needed. To have it purged or the deletion refused, set deletePolicy to purge or refuse-until-empty in the StorageClass`;
}
