import type { PodUid } from "../core/names.ts";
import type { EventRecorder } from "../kube/events.ts";
import { kinds } from "../kube/kinds.ts";
import type { Call } from "../runtime/call.ts";

export interface WarnedPod {
  readonly name: string;
  readonly namespace: string;
  readonly uid: PodUid;
}

/** Tells the owner of a workload, where `kubectl describe` shows it. */
export function warn(
  call: Call,
  { events }: { readonly events: Pick<EventRecorder, "record"> },
  { name, namespace, uid }: WarnedPod,
  warning: { readonly reason: string; readonly message: string },
): Promise<void> {
  const about = { kind: kinds.pods, metadata: { name, namespace, uid } };
  return events.record(call, about, { type: "Warning", ...warning });
}
