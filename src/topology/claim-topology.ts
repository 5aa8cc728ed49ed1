/**
 * Pure: what a tenant sees of the own volumes. PersistentVolumes, attachments and Mountpoint Pods are objects of the cluster, which no role in a
 * namespace can show; claims, Pods and events of the namespace stand in for them.
 */
import { driverName } from "../core/names.ts";
import type { Cluster } from "./cluster.ts";
import { timeOf } from "./event-times.ts";
import { worst } from "./health.ts";
import type { Claim, EventObject, Pod } from "./objects.ts";
import type { AttachmentView, Health, MountpointPodView, Topology, VolumeView } from "./topology.ts";

export function claimTopology(cluster: Cluster): Topology {
  const { readAt, context, unreadable } = cluster;
  const volumes = cluster.claims.filter(mayBeOurs).map((claim) => volumeView(cluster, claim));
  return {
    readAt,
    context,
    unreadable,
    volumes: volumes.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    orphanedPods: [],
    waitingPods: [],
  };
}

/** kube-controller-manager writes the provisioner on claims with a class, by one name before Kubernetes 1.23 and by another since. */
const provisionerNotes = ["volume.kubernetes.io/storage-provisioner", "volume.beta.kubernetes.io/storage-provisioner"];

/** A claim that was bound to an existing volume does not name its driver. */
function mayBeOurs(claim: Claim): boolean {
  return [undefined, driverName].includes(provisionerOf(claim));
}

function provisionerOf({ metadata }: Claim): string | undefined {
  return provisionerNotes.map((name) => metadata.annotations?.[name]).find((each) => each !== undefined);
}

function volumeView(cluster: Cluster, claim: Claim): VolumeView {
  const { metadata, spec } = claim;
  const phase = claim.status?.phase ?? "";
  const pods = cluster.workloads.filter((pod) => isLive(pod) && uses(pod, claim));
  const states = pods.map((pod) => stateOf(pod, newest(cluster, pod.metadata.uid, spec.volumeName)));
  const refusal = refusalOf(phase, newest(cluster, metadata.uid));
  const healths = states.map(({ health }) => health);
  return {
    ...specOf(spec),
    name: spec.volumeName ?? metadata.name,
    claim: { namespace: metadata.namespace ?? "", name: metadata.name },
    ...{ bucket: "", prefix: "", handle: "", mountOptions: [], identity: "", phase },
    provisioning: provisionerOf(claim) === undefined ? "static" : "dynamic",
    createdAt: metadata.creationTimestamp,
    health: refusal === "" ? worst([...healths, ...(phase === "Pending" ? ["waiting" as const] : [])]) : "problem",
    problems: [refusal, ...states.map(placedProblem)].filter((each) => each !== ""),
    attachments: attachmentsOf(states),
  };
}

function specOf({ storageClassName = "", accessModes = [] }: Claim["spec"]) {
  return { storageClass: storageClassName, accessModes };
}

/** Why the claim gets no bucket, or no Pod can use it. */
function refusalOf(phase: string, last: EventObject | undefined): string {
  return phase === "Pending" || last?.reason === "VolumeRefused" ? problemIn(last) : "";
}

function isLive({ status }: Pod): boolean {
  return status?.phase !== "Succeeded" && status?.phase !== "Failed";
}

/** The claim of an ephemeral volume is called after its Pod and volume. */
function uses({ metadata, spec }: Pod, claim: Claim): boolean {
  if (metadata.namespace !== claim.metadata.namespace) return false;
  return (spec.volumes ?? []).some(({ name, persistentVolumeClaim, ephemeral }) => {
    const claimName = ephemeral === undefined ? persistentVolumeClaim?.claimName : `${metadata.name}-${name}`;
    return claimName === claim.metadata.name;
  });
}

/** The newest event about an object that says how this volume is. */
function newest({ events = [] }: Cluster, uid: string, volumeName?: string): EventObject | undefined {
  return events
    .filter(({ involvedObject, reason }) => involvedObject.uid === uid && telling.has(reason ?? ""))
    .filter((event) => event.reason !== "FailedMount" || isAbout(event, volumeName))
    .toSorted((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0];
}

/** kubelet reports FailedMount for all volumes of a Pod, also those of other drivers, and quotes the name of the volume. */
function isAbout({ message = "" }: EventObject, volumeName: string | undefined): boolean {
  return volumeName !== undefined && message.includes(`"${volumeName}"`);
}

/** Of kubelet, csi-provisioner and the driver. A healed volume serves again. */
const telling = new Set([
  ...["FailedMount", "ProvisioningFailed", "VolumeRefused", "MountpointPodRefused", "AttachmentRefused"],
  ...["MountpointPodUnschedulable", "MountpointPodNotStarting", "VolumeHealed", "VolumeNotHealed"],
]);

interface PodState {
  readonly pod: Pod;
  readonly health: Health;
  readonly problem: string;
}

/** A Pod that runs has its volumes; only a mount that died since then is a problem. */
function stateOf(pod: Pod, last: EventObject | undefined): PodState {
  const isRunning = pod.status?.phase === "Running";
  const problem = isRunning && last?.reason !== "VolumeNotHealed" ? "" : problemIn(last);
  if (problem !== "") return { pod, health: "problem", problem };
  return { pod, health: isRunning ? "ok" : "waiting", problem };
}

/** As for other users: with the node, or the Pod as long as it has none. */
function placedProblem({ pod: { metadata, spec }, problem }: PodState): string {
  return problem === "" ? "" : `${spec.nodeName ?? metadata.name}: ${problem}`;
}

function problemIn(event: EventObject | undefined): string {
  return event === undefined || event.reason === "VolumeHealed" ? "" : (event.message ?? event.reason ?? "");
}

/** One for each node, with a Mountpoint Pod that has no name: there may be several, and the tenant cannot know. */
function attachmentsOf(states: readonly PodState[]): readonly AttachmentView[] {
  const nodes = [...new Set(states.map(({ pod }) => pod.spec.nodeName ?? ""))].filter((node) => node !== "").toSorted();
  return nodes.map((node) =>
    attachmentView(
      node,
      states.filter(({ pod }) => pod.spec.nodeName === node),
    ),
  );
}

function attachmentView(node: string, states: readonly PodState[]): AttachmentView {
  const health = worst(states.map((each) => each.health));
  const mountpointPods = [unnamedPod(node, states, health)];
  return { name: "", node, fsGroup: "", mountOptions: "", conditions: [], health, mountpointPods };
}

function unnamedPod(node: string, states: readonly PodState[], health: Health): MountpointPodView {
  return {
    ...{ name: "", namespace: "", node, phase: "", mount: "", version: "", restarts: 0, heals: 0, ending: false },
    ...{ lastDeath: undefined, createdAt: undefined, health },
    problem: states.find(({ problem }) => problem !== "")?.problem ?? "",
    workloads: states.map(({ pod: { metadata, status } }) => ({
      uid: metadata.uid,
      namespace: metadata.namespace,
      name: metadata.name,
      phase: metadata.deletionTimestamp === undefined ? (status?.phase ?? "Pending") : "Terminating",
      attachedAt: "",
    })),
  };
}
