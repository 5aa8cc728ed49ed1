import type { ReasonOn } from "../../core/failures/event-catalogue.ts";
import type { PodUid, PvName } from "../../core/names.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import type { View } from "../observe/view.ts";

export interface WarnedPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: PodUid;
}

interface Warning<Reason> {
  readonly reason: Reason;
  readonly message: string;
  readonly fix?: string;
}

export interface WarningOn {
  readonly events: Pick<EventRecorder, "record">;
}

/** Emits a Warning event on a workload, for `kubectl describe`. Never holds up the worker: the recorder writes in the background. */
export function warn(
  call: Call,
  { events }: WarningOn,
  { name, namespace, uid }: WarnedPod,
  warning: Warning<ReasonOn<"Pod">>,
): void {
  const about = { kind: kinds.pods, metadata: { name, namespace, uid } };
  events.record(call, about, warning);
}

/** Emits the event also on the claims of the volume: a problem of a volume concerns every Pod that will use it. */
export function warnOfVolume(
  call: Call,
  cluster: WarningOn & { readonly view: Pick<View, "claims"> },
  { workload, volume }: { readonly workload: WarnedPod; readonly volume: PvName },
  warning: Warning<ReasonOn<"Pod"> & ReasonOn<"PersistentVolumeClaim">>,
): void {
  warn(call, cluster, workload, warning);
  for (const { name, namespace, uid } of cluster.view.claims.by("volume", volume)) {
    const about = { kind: kinds.persistentVolumeClaims, metadata: { name, namespace, uid } };
    cluster.events.record(call, about, warning);
  }
}
