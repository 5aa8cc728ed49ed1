/** What must hold when nothing has happened for longer than any limit of the driver. */
import { isAlive, type MountpointPod, mountpointPodFrom, waitingPodFrom } from "../../src/core/mountpoint-pod-state.ts";
import type { PodUid } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { settingsHash } from "../../src/reconciler/domain/mountpoint-pod/settings-hash.ts";
import { warmSettings } from "../../src/reconciler/domain/mountpoint-pod/warm-pod.ts";
import { differenceFrom, isStaying } from "../../src/reconciler/domain/move.ts";
import { s3VolumeFrom } from "../../src/reconciler/domain/persistent-volume.ts";
import { isCurrent, rolloutRequest } from "../../src/reconciler/domain/rollout.ts";
import { needsVolumes, workloadFrom } from "../../src/reconciler/domain/workload.ts";
import { plainStores } from "../support/fake-credentials.ts";
import type { ApiServer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import type { SimulatedNode } from "./node.ts";
import { mountpointNamespace, mountpointPodsOf, type Release, releaseNamespace } from "./release.ts";
import { volumeObjectOf, volumeOf } from "./volumes.ts";

export interface AtRest {
  readonly server: ApiServer;
  readonly nodes: readonly SimulatedNode[];
  readonly release: Release;
}

/** A workload, the Mountpoint Pod that serves it, and the mount options of the attachment that says so. */
interface Served {
  readonly pod: Pod;
  readonly serves: MountpointPod;
  readonly mountOptions: string;
}

export function workloadsIn(server: ApiServer): readonly Pod[] {
  return server.list(kinds.pods, { namespace: "shop" });
}

/** Returns how many workloads are served: all that need their volumes. */
export function checkServed(world: AtRest): number {
  const needing = workloadsIn(world.server).filter((each) => needsVolumes(workloadFrom(each)));
  const all = needing.map((pod) => servedAtRest(world, pod));
  for (const each of all) checkMoved(world, each);
  checkRolledOut(world, all);
  return needing.length;
}

function servedAtRest({ server, nodes }: AtRest, pod: Pod): Served {
  const { uid, name } = pod.metadata;
  const listed = server
    .all(kinds.attachments)
    .flatMap(({ spec }) => Object.entries(spec.mountpointS3PodAttachments).map((entry) => ({ spec, entry })));
  const holders = listed.filter(({ entry: [, list] }) => list.some(({ workloadPodUID }) => workloadPodUID === uid));
  const [holder] = holders;
  if (holder === undefined || holders.length > 1)
    throw new BrokenRule(`${name} is listed ${holders.length} times at rest`);
  const found = server.get(kinds.pods, { namespace: mountpointNamespace, name: holder.entry[0] });
  const serves = found && mountpointPodFrom(found);
  if (!serves || !isAlive(serves)) throw new BrokenRule(`${name} has no Mountpoint Pod at rest`);
  const isServed = nodes.some(({ machine }) => machine.isServed(uid as PodUid));
  const hasStarted = nodes.some(({ machine }) => machine.hasContainer(uid as PodUid));
  if (!isServed && (hasStarted || hasIdentity(server, pod, serves.identity)))
    throw new BrokenRule(`${name} is not served at rest`);
  return { pod, serves, mountOptions: holder.spec.mountOptions };
}

/**
 * A Pod that waited while the Secret of its volume was replaced has an event that tells its owner to start it anew (SE-6). A container that
 * has started keeps its mount, whatever the volume refers to by now.
 */
function hasIdentity(server: ApiServer, pod: Pod, identity: string | undefined): boolean {
  return identity === (volumeOf(server, pod)?.hasSecret ? "secret:shop/credentials" : "driver");
}

/** LC-21. A request is fulfilled, or has failed. Nothing moves from a Mountpoint Pod that somebody has annotated for unmount. */
function checkMoved({ server, nodes }: AtRest, { pod, serves }: Served): void {
  const { requested, failed } = serves.move;
  const isServed = nodes.some(({ machine }) => machine.isServed(pod.metadata.uid as PodUid));
  const canMove = isServed && isStaying(serves) && volumeOf(server, pod)?.attributes["bucketName"] !== undefined;
  if (!canMove || requested === undefined || failed.includes(requested)) return;
  throw new BrokenRule(`${pod.metadata.name} is not moved at rest`);
}

/** LC-21. A rollout goes on until nothing is left to be moved, or too much has failed. */
function checkRolledOut({ server, nodes, release }: AtRest, all: readonly Served[]): void {
  const { strategy, isPaused, retry, maxFailures } = release.rollout;
  if (strategy === "manual" || isPaused) return;
  const current = { hash: settingsHash(mountpointPodsOf(release)), retry };
  const states = all.flatMap(({ pod, serves, mountOptions }) => {
    const object = volumeObjectOf(server, pod);
    const volume = object && s3VolumeFrom(plainStores, object);
    const isServed = nodes.some(({ machine }) => machine.isServed(pod.metadata.uid as PodUid));
    if (volume === undefined || !isServed || !isStaying(serves) || isCurrent(serves, volume, current)) return [];
    if (differenceFrom(serves, volume, mountOptions) !== undefined) return [];
    const hasFailed = serves.move.failed.includes(rolloutRequest(volume, current));
    return [{ name: serves.name, is: hasFailed ? "failed" : "outdated" }];
  });
  const failed = new Set(states.filter(({ is }) => is === "failed").map(({ name }) => name));
  const outdated = states.find(({ is }) => is === "outdated");
  if (outdated !== undefined && failed.size < maxFailures) throw new BrokenRule(`${outdated.name} is outdated at rest`);
}

/** WM-1. As many wait on every node as are to, with the settings of now, and all of them run. */
export function checkWaiting({ server, nodes, release }: AtRest): void {
  const listed = new Set(
    server.all(kinds.attachments).flatMap(({ spec }) => Object.keys(spec.mountpointS3PodAttachments)),
  );
  const waiting = server.all(kinds.pods).flatMap((pod) => waitingPodFrom(pod) ?? []);
  const settings = warmSettings(mountpointPodsOf(release));
  for (const { name: node } of nodes) {
    const here = waiting.filter((pod) => pod.node === node && !listed.has(pod.name));
    const useful = here.filter((pod) => pod.phase === "running" && pod.warmSettings === settings && !pod.terminating);
    if (here.length !== release.warmPerNode || useful.length !== here.length)
      throw new BrokenRule(`${here.length} Mountpoint Pods wait on ${node} at rest, ${useful.length} of them useful`);
  }
}

/** What waits for a volume stays until the driver goes. */
export function checkNothingLeft({ server, nodes }: Pick<AtRest, "server" | "nodes">, what: "used" | "all"): void {
  const pods = server.all(kinds.pods).filter(({ metadata }) => metadata.namespace !== releaseNamespace);
  const ofNobody = what === "all" ? pods : pods.filter((pod) => waitingPodFrom(pod) === undefined);
  const names = [...server.all(kinds.attachments), ...ofNobody].map(({ metadata }) => metadata.name);
  const mounts = nodes.flatMap(({ machine }) => machine.traces);
  if (names.length + mounts.length > 0) throw new BrokenRule(`left behind: ${[...names, ...mounts].join(", ")}`);
}
