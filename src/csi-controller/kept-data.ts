/** What the provisioner tells people: events on the volume, and a log line that outlives them. */
import type { EventRecorder } from "../kube/events.ts";
import { kinds } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";
import type { Kept, Reports } from "./csi-controller-parts.ts";
import type { CsiControllerMetrics } from "./metrics.ts";

export function reports(events: Pick<EventRecorder, "record">, metrics: CsiControllerMetrics): Reports {
  return {
    kept: async (call: Call, { bucket, prefix, because, volume }: Kept) => {
      const message = keptMessage({ bucket, prefix, because });
      metrics.keptBuckets.inc({ because });
      call.log.info("data of a deleted volume is kept", { because, message });
      if (volume === undefined) return;
      const happening =
        because === "policy"
          ? ({ type: "Normal", reason: "BucketRetained", message } as const)
          : ({ type: "Warning", reason: "BucketKept", message } as const);
      await events.record(call, { kind: kinds.persistentVolumes, metadata: volume }, happening);
    },
  };
}

function keptMessage({ bucket, prefix, because }: Pick<Kept, "bucket" | "prefix" | "because">): string {
  const what = prefix === undefined ? `Bucket ${bucket}` : `What lies below ${prefix} in bucket ${bucket}`;
  if (because === "policy") return `${what} is kept: the deletePolicy of its StorageClass is retain`;
  return `${what} is kept, because it still holds data. Remove it by hand when it is no longer needed; deletePolicy purge or refuse-until-empty in the StorageClass does otherwise`;
}
