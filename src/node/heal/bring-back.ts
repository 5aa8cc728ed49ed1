/** Mounts the source of a dead mount's workloads again, from the mount records. */
import { DriverError } from "../../core/errors.ts";
import type { PodName } from "../../core/names.ts";
import type { Call } from "../../runtime/call.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { usesDriverKeys } from "../credentials/credentials.ts";
import { parseTargetPath, type Target } from "../domain/target-path.ts";
import { isOurs } from "../mounts/mount-table.ts";
import type { NodeParts } from "../node-parts.ts";
import type { MountRecord } from "../records/mount-records.ts";
import { askSource } from "../source/ask-source.ts";
import type { DeadDevice } from "../source/dead-devices.ts";
import { mountSource, removeSource } from "../source/mount-source.ts";

/** Targets that show the dead device, or of which a container has a sub-path of it. Targets under a living mount are excluded. */
export function deadTargets(node: NodeParts, { minor }: Pick<DeadDevice, "minor">): readonly string[] {
  const mounts = node.mounts();
  const paths = mounts
    .ofDevice(minor)
    .filter((mount) => isOurs(mount) && mounts.workloadOf(mount) !== undefined && !mounts.isCovered(mount))
    .map((mount) => mounts.targetOf(mount));
  return [...new Set(paths)].filter((path) => targetAt(node.config.kubeletDir, path) !== undefined);
}

/**
 * The targets among these that are still published. Empty if the node plugin cannot enter containers: then only kubelet's own
 * mounts can be healed.
 */
export function stillPublished(node: NodeParts, targets: readonly string[]): readonly string[] {
  if (node.swapper === undefined) return [];
  const mounts = node.mounts();
  return targets.filter((target) => mounts.oursAt(target) !== undefined);
}

function targetAt(kubeletDir: string, path: string): Target | undefined {
  try {
    return parseTargetPath(kubeletDir, path);
  } catch (error) {
    if (error instanceof DriverError) return undefined;
    throw error;
  }
}

/**
 * The Mountpoint Pod that serves these targets from now on. The attachments decide. Without an attachment it is the former
 * Mountpoint Pod, whose container kubelet restarts.
 */
export function successorOf(node: NodeParts, dead: DeadDevice, targets: readonly string[]): PodName | undefined {
  const assigned = targets.flatMap((path) => {
    const target = targetAt(node.config.kubeletDir, path);
    return (target && node.attachments.holderNow(target)) ?? [];
  });
  // A terminating workload is in no attachment any more. Its record must not decide for the others.
  return assigned[0] ?? targets.flatMap((path) => node.records.holderOf(path) ?? [])[0] ?? dead.mountpointPod;
}

/** Resolves when the source of the Mountpoint Pod serves. Shares the work with a publish of the same source. */
export async function bringBack(call: Call, node: NodeParts, name: PodName, targets: readonly string[]): Promise<void> {
  const record = recordFor(node, name, targets);
  if (record === undefined) {
    if ((await sourceNow(call, node, name)) === "serving") return;
    throw new DriverError("notReady", "the node plugin has no record of the options of this mount", {
      hint: "No action is needed: kubelet repeats its call within 90 seconds and brings them.",
    });
  }
  await node.sources.bringUp(call, name, () => startAgain(call, node, name, record));
  // An earlier attempt may have mounted the source and ended before mount-s3 answered.
  if (node.records.get(name) === undefined) node.records.set(name, record);
}

/** The record of the Mountpoint Pod, else of the Mountpoint Pod that it replaces. */
function recordFor({ records }: NodeParts, name: PodName, targets: readonly string[]): MountRecord | undefined {
  const former = targets.flatMap((target) => records.holderOf(target) ?? []);
  return [name, ...former].flatMap((pod) => records.get(pod) ?? [])[0];
}

async function sourceNow(call: Call, node: NodeParts, name: PodName) {
  return node.mounts().source(name) === undefined ? "absent" : await askSource(call, node, name);
}

async function startAgain(call: Call, node: NodeParts, name: PodName, record: MountRecord): Promise<void> {
  if ((await sourceNow(call, node, name)) === "serving") return;
  const pod = await node.mountpointPods.waitUntilKnown(call, name);
  checkKeys(pod, record);
  const { request, workload, volumeId, pidNamespace } = record;
  const keys = { keys: record.keys ?? (await node.driverKeys.get(call)), workload, volumeId };
  removeSource(node, name);
  await mountSource(call, node, { mountpointPod: name, request, keys, pidNamespace });
  node.records.set(name, record);
}

/** Keys of one identity must never reach a mount of another (SE-6). The Mountpoint Pod names its identity. */
function checkKeys(pod: LocalMountpointPod, { keys, persistentVolume }: MountRecord): void {
  const isDrivers = pod.identity === undefined ? keys === undefined : usesDriverKeys(pod);
  if (isDrivers !== (keys === undefined) || pod.persistentVolume !== persistentVolume) {
    throw new DriverError("notReady", `Mountpoint Pod ${pod.name} uses other keys than the dead mount`, {
      hint: "No action is needed: kubelet repeats its call within 90 seconds and brings the current keys.",
    });
  }
}
