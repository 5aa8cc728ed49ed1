/** Everything that is known about one place, from the view alone: no request is made. */
import type { PvName } from "../core/names.ts";
import type { Workload } from "../core/workload.ts";
import type { Observed } from "./decision/decision.ts";
import { type Place, placeKey } from "./place.ts";
import { type View, volumesWith, workloadsOf, workloadsWith } from "./view.ts";

export interface Policy {
  readonly driverVersion: string;
  readonly staleAfterMs: number;
}

export function observe(view: View, place: Place, policy: Policy, now: Date): Observed {
  const key = placeKey(place);
  const attachments = view.attachments.by("place", key);
  return {
    now,
    node: place.node,
    volume: view.volumes.get(place.persistentVolume),
    sameHandle: sameHandle(view, place.persistentVolume),
    workloads: workloadsAt(view, place, attachments.flatMap(workloadsOf)),
    attachments,
    mountpointPods: view.mountpointPods.by("place", key),
    driverVersion: policy.driverVersion,
    staleAfterMs: policy.staleAfterMs,
  };
}

function sameHandle(view: View, name: PvName): readonly PvName[] {
  const volume = view.volumes.get(name);
  if (volume === undefined || "refused" in volume) return [];
  return volumesWith(view, volume.volumeId).filter((other) => other !== name);
}

function workloadsAt(view: View, { node, persistentVolume }: Place, listed: readonly string[]): readonly Workload[] {
  const claiming = workloadsWith(view, persistentVolume).filter((workload) => workload.node === node);
  const attached = listed.flatMap((uid) => view.workloads.by("uid", uid));
  return [...new Map([...claiming, ...attached].map((workload) => [workload.uid, workload])).values()];
}
