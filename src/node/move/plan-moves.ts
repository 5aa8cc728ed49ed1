/** Decides which mounts that work are to be replaced. Pure: depends on the mount table and the attachments only. */

import type { MountpointPod } from "../../core/mountpoint-pod-state.ts";
import { isAlive } from "../../core/mountpoint-pod-state.ts";
import type { PodName } from "../../core/names.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import { isOurs, type MountTable } from "../mounts/mount-table.ts";

/** Workloads whose mount is served by one Mountpoint Pod, and to which the controller has assigned another. */
export interface Move {
  readonly from: PodName;
  readonly to: PodName;
  readonly deviceId: DeviceId;
  readonly targets: readonly string[];
}

/** Linear in the size of the table. A workload that no attachment lists is about to end: its mount stays. */
export function movesIn(table: MountTable, holderOf: (target: string) => PodName | undefined): readonly Move[] {
  const served = new Map(table.all.filter(isOurs).flatMap((mount) => sourceEntry(table, mount)));
  const moved = new Map<string, Move & { readonly targets: string[] }>();
  const seen = new Set<string>();
  for (const mount of table.all.filter(isOurs)) {
    const from = served.get(mount.deviceId);
    const target = table.targetOf(mount);
    const to = table.workloadOf(mount) && holderOf(target);
    if (from === undefined || to === undefined || to === from || table.isCovered(mount)) continue;
    // A target with sub-paths has several mounts.
    if (seen.has(target)) continue;
    seen.add(target);
    const move = moved.get(`${from} ${to}`) ?? { from, to, deviceId: mount.deviceId, targets: [] };
    move.targets.push(target);
    moved.set(`${from} ${to}`, move);
  }
  return [...moved.values()];
}

function sourceEntry(table: MountTable, mount: Mount): readonly (readonly [DeviceId, PodName])[] {
  const name = table.sourceNameOf(mount);
  return name === undefined ? [] : [[mount.deviceId, name]];
}

export interface Successor {
  readonly name: PodName;
  /** The Mountpoint Pod that its workloads leave, or have left. */
  readonly replaces: PodName;
}

/** The Mountpoint Pods to whose sources workloads move, or have moved. */
export function successorsAmong(
  pods: Iterable<Pick<MountpointPod, "name" | "move" | "phase" | "terminating" | "needsUnmount">>,
): readonly Successor[] {
  return [...pods].flatMap((pod) => {
    const isNeeded = isAlive(pod) && !pod.terminating && !pod.needsUnmount;
    return pod.move.replaces !== undefined && isNeeded ? { name: pod.name, replaces: pod.move.replaces } : [];
  });
}
