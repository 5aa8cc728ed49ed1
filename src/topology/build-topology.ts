/** Pure: what was read of a cluster → what hangs together. */
import type { MountpointPodStatus } from "../core/attachment-status.ts";
import { type MountpointPodObject, mountpointPodFrom, waitingPodFrom } from "../core/mountpoint-pod-state.ts";
import { annotations, labels } from "../core/names.ts";
import { claimTopology } from "./claim-topology.ts";
import type { Cluster } from "./cluster.ts";
import { attachmentHealth, podHealth, volumeHealth } from "./health.ts";
import { liveViewOf, shownLive } from "./live-view.ts";
import type { AttachmentObject, ContainerStatus, PersistentVolume, Pod } from "./objects.ts";
import { mountpointPodProblem, volumeProblems } from "./problems.ts";
import type { AttachmentView, MountpointPodView, Topology, VolumeView, WorkloadView } from "./topology.ts";

export function buildTopology(cluster: Cluster): Topology {
  if (cluster.claimsOnly === true) return claimTopology(cluster);
  const context = contextOf(cluster);
  const listed = new Set(cluster.attachments.flatMap(({ spec }) => Object.keys(spec.mountpointS3PodAttachments)));
  const unlisted = [...context.mountpointPods.values()].filter((pod) => !listed.has(pod.metadata.name));
  const orphaned = unlisted.filter((pod) => mountpointPodFrom(pod as MountpointPodObject & Pod) !== undefined);
  const waiting = unlisted.flatMap((pod) => waitingPodFrom(pod as MountpointPodObject & Pod) ?? []);
  return {
    readAt: cluster.readAt,
    context: cluster.context,
    volumes: cluster.volumes.map((volume) => volumeView(context, volume)).toSorted(byName),
    orphanedPods: orphaned.map(({ metadata: { name } }) => orphanView(context, name)).toSorted(byName),
    waitingPods: waiting.map(({ name, node }) => orphanView(context, name, node)).toSorted(byName),
    unreadable: cluster.unreadable,
  };
}

/** `node`: of one that is not scheduled yet. */
function orphanView(context: Context, name: string, node = ""): MountpointPodView {
  const view = mountpointPodView(context, { name, node, reported: {}, workloads: [] });
  return { ...view, node: view.node || node };
}

interface Context {
  readonly cluster: Cluster;
  readonly mountpointPods: ReadonlyMap<string, Pod>;
  readonly workloads: ReadonlyMap<string, Pod>;
  readonly attachments: ReadonlyMap<string, readonly AttachmentObject[]>;
}

/** By name, UID and volume: a cluster may have tens of thousands of each. */
function contextOf(cluster: Cluster): Context {
  return {
    cluster,
    mountpointPods: new Map(cluster.mountpointPods.map((pod) => [pod.metadata.name, pod])),
    workloads: new Map(cluster.workloads.map((pod) => [pod.metadata.uid, pod])),
    attachments: byVolume(cluster.attachments),
  };
}

/** Not Map.groupBy, which Node 20 does not have. */
function byVolume(attachments: readonly AttachmentObject[]): ReadonlyMap<string, readonly AttachmentObject[]> {
  const groups = new Map<string, AttachmentObject[]>();
  for (const each of attachments) {
    const group = groups.get(each.spec.persistentVolumeName);
    if (group === undefined) groups.set(each.spec.persistentVolumeName, [each]);
    else group.push(each);
  }
  return groups;
}

function volumeView(context: Context, volume: PersistentVolume): VolumeView {
  const { metadata, spec, status } = volume;
  const attachments = (context.attachments.get(metadata.name) ?? []).map((each) => attachmentView(context, each));
  const problems = volumeProblems(volume, attachments);
  const { claimRef } = spec;
  const live = liveViewOf(volume);
  return {
    ...bucketOf(volume),
    ...(live && { live }),
    name: metadata.name,
    claim: claimRef && { namespace: claimRef.namespace, name: claimRef.name },
    phase: status?.phase ?? "",
    storageClass: spec.storageClassName ?? "",
    accessModes: spec.accessModes ?? [],
    mountOptions: spec.mountOptions ?? [],
    identity: identityOf(volume),
    createdAt: metadata.creationTimestamp,
    health: volumeHealth(attachments, problems),
    problems,
    attachments: attachments.toSorted((a, b) => (a.node < b.node ? -1 : 1)),
  };
}

function bucketOf(volume: PersistentVolume): Pick<VolumeView, "bucket" | "prefix" | "handle" | "provisioning"> {
  const { volumeAttributes: attributes = {}, volumeHandle = "" } = volume.spec.csi ?? {};
  return {
    bucket: attributes["bucketName"] ?? "",
    prefix: prefixOf(volume),
    handle: volumeHandle,
    provisioning: attributes["dynamicProvisioning"] === "true" ? "dynamic" : "static",
  };
}

function attachmentView(context: Context, { metadata, spec, status }: AttachmentObject): AttachmentView {
  const pods = Object.entries(spec.mountpointS3PodAttachments).map(([name, served]) => {
    const workloads = served.map(({ workloadPodUID, attachmentTime }) =>
      workloadView(context, workloadPodUID, attachmentTime),
    );
    const reported = status?.mountpointPods?.[name] ?? {};
    return mountpointPodView(context, { name, node: spec.nodeName, reported, workloads });
  });
  const conditions = status?.conditions ?? [];
  return {
    name: metadata.name,
    node: spec.nodeName,
    fsGroup: spec.workloadFSGroup,
    mountOptions: spec.mountOptions,
    conditions,
    health: attachmentHealth(pods, conditions),
    mountpointPods: pods.toSorted(byName),
  };
}

/** A Mountpoint Pod as an attachment lists it. */
interface ListedPod {
  readonly name: string;
  readonly node: string;
  readonly reported: MountpointPodStatus;
  readonly workloads: readonly WorkloadView[];
}

function mountpointPodView({ cluster, mountpointPods }: Context, listed: ListedPod): MountpointPodView {
  const { name, reported, workloads } = listed;
  const pod = mountpointPods.get(name);
  const { health: mount = "", heals = 0, lastDeath } = reported;
  const view = {
    ...(pod === undefined ? missingPod(listed) : podFacts(pod)),
    ...{ name, mount, heals, lastDeath, workloads },
    namespace: cluster.namespaces.mountpointPods,
    problem: mountpointPodProblem(pod, reported, workloads.length > 0),
  };
  return { ...view, health: podHealth(view) };
}

type PodFacts = Pick<MountpointPodView, "node" | "phase" | "version" | "live" | "restarts" | "ending" | "createdAt">;

function missingPod({ node, reported }: ListedPod): PodFacts {
  const { version = "", restarts = 0 } = reported;
  return { node, phase: "Missing", version, restarts, ending: false, createdAt: undefined };
}

function podFacts({ metadata, spec, status }: Pod): PodFacts {
  const { labels: marks = {}, annotations: notes = {} } = metadata;
  const live = shownLive(notes);
  return {
    ...(live.length > 0 && { live }),
    node: spec.nodeName ?? "",
    phase: status?.phase ?? "Pending",
    version: marks[labels.driverVersion] ?? "",
    restarts: restartsOf(status?.containerStatuses),
    ending: isEnding(notes),
    createdAt: metadata.creationTimestamp,
  };
}

function restartsOf(containers: readonly ContainerStatus[] = []): number {
  return containers[0]?.restartCount ?? 0;
}

function isEnding(notes: Readonly<Record<string, string>>): boolean {
  return notes[annotations.needsUnmount] === "true";
}

function workloadView({ workloads }: Context, uid: string, attachedAt: string): WorkloadView {
  const pod = workloads.get(uid);
  const phase = pod === undefined ? "Unknown" : terminating(pod) ? "Terminating" : (pod.status?.phase ?? "Pending");
  return { uid, namespace: pod?.metadata.namespace, name: pod?.metadata.name, phase, attachedAt };
}

function terminating(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

function identityOf({ spec: { csi } }: PersistentVolume): string {
  const secret = csi?.nodePublishSecretRef;
  const usesSecret = csi?.volumeAttributes?.["authenticationSource"] === "secret" && secret !== undefined;
  return usesSecret ? `secret:${secret.namespace ?? ""}/${secret.name ?? ""}` : "driver";
}

/** A mount option beats the attribute, as in the driver. */
function prefixOf({ spec }: PersistentVolume): string {
  const option = (spec.mountOptions ?? []).map((each) => /^(?:--)?prefix[ =]+(.*)$/.exec(each.trim())?.[1]);
  return option.find((each) => each !== undefined) ?? spec.csi?.volumeAttributes?.["prefix"] ?? "";
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
