/** Makes mount-s3 serve again for those who use a dead mount, with what is remembered of it. */
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

/** Whose volumes are the dead mount, or have a part of it: by their targets. Not where a living one covers it. */
export function deadTargets(node: NodeParts, { minor }: Pick<DeadDevice, "minor">): readonly string[] {
  const mounts = node.mounts();
  const paths = mounts
    .ofDevice(minor)
    .filter((mount) => isOurs(mount) && mounts.workloadOf(mount) !== undefined && !mounts.isCovered(mount))
    .map((mount) => mounts.targetOf(mount));
  return [...new Set(paths)].filter((path) => targetAt(node.config.kubeletDir, path) !== undefined);
}

/**
 * Of those for whom something is still to be done: they may have left meanwhile. Where containers cannot be reached,
 * what kubelet gives to new ones is all that can be done.
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
 * Which Mountpoint Pod is to serve them from now on. The controller says so; where it cannot be heard, the one that
 * served them before will be started again by kubelet.
 */
export function successorOf(node: NodeParts, dead: DeadDevice, targets: readonly string[]): PodName | undefined {
  const assigned = targets.flatMap((path) => {
    const target = targetAt(node.config.kubeletDir, path);
    return (target && node.attachments.holderNow(target)) ?? [];
  });
  // A workload that is on its way out is in no attachment any more: what is remembered of it counts for no other.
  return assigned[0] ?? targets.flatMap((path) => node.records.holderOf(path) ?? [])[0] ?? dead.mountpointPod;
}

/** Ends when the source of the Mountpoint Pod serves. Joins a publish that does the same, and the other way round. */
export async function bringBack(call: Call, node: NodeParts, name: PodName, targets: readonly string[]): Promise<void> {
  const record = recordFor(node, name, targets);
  if (record === undefined) {
    if ((await sourceNow(call, node, name)) === "serving") return;
    throw new DriverError("notReady", "what mount-s3 was started with is not known on this node any more", {
      hint: "Nothing is to be done: kubelet repeats its call within 90 seconds and brings it.",
    });
  }
  await node.sources.bringUp(call, name, () => startAgain(call, node, name, record));
  // An earlier attempt may have mounted it and ended before mount-s3 answered.
  if (node.records.get(name) === undefined) node.records.set(name, record);
}

/** Its own, or that of the Mountpoint Pod it takes over from. */
function recordFor({ records }: NodeParts, name: PodName, targets: readonly string[]): MountRecord | undefined {
  const former = targets.flatMap((target) => records.holderOf(target) ?? []);
  return [name, ...former].flatMap((one) => records.get(one) ?? [])[0];
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

/** Keys of one identity never reach a mount of another (SE-6): the Mountpoint Pod says whose it uses. */
function checkKeys(pod: LocalMountpointPod, { keys, persistentVolume }: MountRecord): void {
  const isDrivers = pod.identity === undefined ? keys === undefined : usesDriverKeys(pod);
  if (isDrivers !== (keys === undefined) || pod.persistentVolume !== persistentVolume) {
    throw new DriverError("notReady", `Mountpoint Pod ${pod.name} is for other keys than those of the dead mount`, {
      hint: "Nothing is to be done: kubelet repeats its call within 90 seconds and brings them.",
    });
  }
}
