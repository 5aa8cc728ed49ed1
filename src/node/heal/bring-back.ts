/** Mounts the source of a dead mount's workloads again, from the mount records. */
import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import type { Call } from "../../runtime/call.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { volumeOf } from "../cluster/volume-of.ts";
import { isFor } from "../credentials/access.ts";
import { targetAt } from "../domain/target-path.ts";
import type { MountRecord } from "../records/mount-records.ts";
import { askSource } from "../source/ask-source.ts";
import type { DeadDevice } from "../source/dead-devices.ts";
import { startSource } from "../source/mount-source.ts";
import { checkStaysAt } from "../source/store-of-record.ts";
import type { HealRoom } from "./heal-room.ts";

/**
 * The targets among these that are still published. Empty if the node plugin cannot enter containers: then only kubelet's own
 * mounts can be healed.
 */
export function stillPublished(room: HealRoom, targets: readonly string[]): readonly string[] {
  if (room.swapper === undefined) return [];
  const mounts = room.mounts.table();
  return targets.filter((target) => mounts.oursAt(target) !== undefined);
}

/**
 * The Mountpoint Pod that serves these targets from now on. The attachments decide. Without an attachment it is the former
 * Mountpoint Pod, whose container kubelet restarts.
 */
export function successorOf(room: HealRoom, dead: DeadDevice, targets: readonly string[]): PodName | undefined {
  const assigned = targets.flatMap((path) => {
    const target = targetAt(room.mounts.kubeletDir, path);
    return (target && room.cluster.attachments.holderNow(target)) ?? [];
  });
  // A terminating workload is in no attachment any more. Its record must not decide for the others.
  return assigned[0] ?? targets.flatMap((path) => room.records.mounts.holderOf(path) ?? [])[0] ?? dead.mountpointPod;
}

/** Resolves when the source of the Mountpoint Pod serves. Shares the work with a publish of the same source. */
export async function bringBack(call: Call, room: HealRoom, name: PodName, targets: readonly string[]): Promise<void> {
  const known = recordsFor(room, name, targets);
  const [record] = known;
  if (record === undefined) {
    if ((await sourceNow(call, room, name)) === "serving") return;
    throw new DriverError("notReady", "the node plugin has no record of the options of this mount", {
      hint: "No action is needed: kubelet repeats its call within 90 seconds and brings them.",
    });
  }
  // A publish may have mounted the successor at what the name of the store means now.
  for (const each of known) checkStaysAt(room.sources.stores, each, record.access.store);
  await room.sources.registry.bringUp(call, name, () => startAgain(call, room, name, record));
  // An earlier attempt may have mounted the source and ended before mount-s3 answered.
  if (room.records.mounts.get(name) === undefined) room.records.mounts.set(name, record);
}

/** The record of the Mountpoint Pod, and those of the Mountpoint Pods that it replaces. */
function recordsFor({ records }: HealRoom, name: PodName, targets: readonly string[]): readonly MountRecord[] {
  const former = targets.flatMap((target) => records.mounts.holderOf(target) ?? []);
  return [name, ...former].flatMap((pod) => records.mounts.get(pod) ?? []);
}

async function sourceNow(call: Call, room: HealRoom, name: PodName) {
  return room.mounts.table().source(name) === undefined ? "absent" : await askSource(call, room.sources, name);
}

async function startAgain(call: Call, room: HealRoom, name: PodName, record: MountRecord): Promise<void> {
  if ((await sourceNow(call, room, name)) === "serving") return;
  const pod = await room.cluster.mountpointPods.waitUntilKnown(call, name);
  checkCredentials(room, pod, record);
  await startSource(call, room.sources, name, record);
}

/** Keys of one identity must never reach a mount of another (SE-6). The Mountpoint Pod names its identity. */
function checkCredentials(
  { cluster }: HealRoom,
  pod: LocalMountpointPod,
  { access, persistentVolume }: MountRecord,
): void {
  const isSame = pod.identity === undefined || isFor(pod.identity, access);
  if (!isSame || volumeOf(cluster.attachments, pod) !== persistentVolume) {
    throw new DriverError("notReady", `Mountpoint Pod ${pod.name} uses other keys than the dead mount`, {
      hint: "No action is needed: kubelet repeats its call within 90 seconds and brings the current keys.",
    });
  }
}
