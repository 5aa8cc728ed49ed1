/** Every string that the programs, the chart, the documentation and 2.x share. */
import { createHash } from "node:crypto";

export const driverName = "s3.csi.scality.com";

/** The custom resource; 2.x serves the same group, version and kind. */
export const attachmentApi = {
  group: driverName,
  version: "v2",
  kind: "MountpointS3PodAttachment",
  plural: "mountpoints3podattachments",
} as const;

/** Where Mountpoint Pods live unless the chart says otherwise. */
export const defaultMountpointNamespace = "mount-s3";

/** Its holder is the one reconciler that works; in the namespace of the release. */
export const reconcilerLease = "s3-pod-reconciler";

export type PodUid = string & { readonly __brand: "PodUid" };
export type PodName = string & { readonly __brand: "PodName" };
export type NodeName = string & { readonly __brand: "NodeName" };
/** The name of a PersistentVolume object; 2.x calls it "volume name". */
export type PvName = string & { readonly __brand: "PvName" };
/** The CSI volume handle. */
export type VolumeId = string & { readonly __brand: "VolumeId" };

export const labels = {
  mountpointVersion: `${driverName}/mountpoint-version`,
  podUid: `${driverName}/pod-uid`,
  volumeName: `${driverName}/volume-name`,
  driverVersion: `${driverName}/mounted-by-csi-driver-version`,
  /** On a Mountpoint Pod that was created without a volume: `waiting`, and `assigned` once it has one. */
  warm: `${driverName}/warm`,
} as const;

/** Names around the room that is kept free for Mountpoint Pods until they come. */
export const headroom = {
  /** On a workload: it waits until room is reserved. */
  gate: `${driverName}/reserve-headroom-for-mppod`,
  /** On a workload, with its UID as value: what its headroom Pods keep close to. */
  workloadLabel: `${driverName}/headroom-for-workload`,
  /** On a headroom Pod: UID of the workload. */
  podLabel: `${driverName}/headroom-for-pod`,
  /** On a headroom Pod: name of the PersistentVolume. */
  volumeLabel: `${driverName}/headroom-for-volume`,
} as const;

export const annotations = {
  needsUnmount: `${driverName}/needs-unmount`,
  /** When that was asked for, RFC 3339; 2.x does not say. */
  needsUnmountSince: `${driverName}/needs-unmount-since`,
  noNewWorkload: `${driverName}/no-new-workload`,
  volumeName: `${driverName}/volume-name`,
  volumeId: `${driverName}/volume-id`,
  identity: `${driverName}/authentication-source`,
  readOnly: `${driverName}/read-only`,
  /** The claim for which a Mountpoint Pod was created, as `namespace/name`. */
  claim: `${driverName}/claim`,
  /** On a Mountpoint Pod or a PersistentVolume: its workloads are to move to a new Mountpoint Pod. The value tells requests apart. */
  move: `${driverName}/move`,
  /** On a Mountpoint Pod: the requests that failed and are not tried again, one on each line. */
  moveFailed: `${driverName}/move-failed`,
  /** On a Mountpoint Pod: the request on its PersistentVolume at its creation, which it therefore fulfils. */
  fulfilsMove: `${driverName}/fulfils-move`,
  /** On a Mountpoint Pod: the one whose workloads move to it. */
  replaces: `${driverName}/replaces`,
  /** On a Mountpoint Pod with needs-unmount: the one to which its workloads have moved. Files that were open then are still served. */
  movedTo: `${driverName}/moved-to`,
  /** On a Mountpoint Pod: a hash of the settings with which it was created. Pods of 2.x have none. */
  settings: `${driverName}/settings`,
  /** On a Mountpoint Pod that waits for a volume: a hash of the settings that it was created with. */
  warmSettings: `${driverName}/warm-settings`,
  /** On a service account: the role that its workloads assume, for volumes that name none. */
  roleArn: `${driverName}/role-arn`,
} as const;

/**
 * Annotations on a PersistentVolume whose values replace what it specifies, for its running mounts, too: what follows is `mountOptions` or
 * the name of a volume attribute. A Mountpoint Pod has those with which it was created.
 */
export const livePrefix = `live.${driverName}/`;

/** On a Secret whose credentials the deletion of volumes still needs. */
export const secretFinalizer = `${driverName}/needed-by-volumes`;

/** Keeps workloads off a node until the driver runs there; whoever sets it up chooses the effect. */
export const startupTaintKey = `${driverName}/agent-not-ready`;

/** Device of our FUSE mounts in mountinfo. */
export const mountDevice = "mountpoint-s3";

/** Files in the memory volume that node plugin and Mountpoint Pod share. */
export const comm = {
  volume: "comm",
  containerPath: "/comm",
  socket: "mount.sock",
  error: "mount.err",
  exit: "mount.exit",
  credentials: "credentials",
} as const;

/** Where a Mountpoint Pod with a cache volume has it. */
export const cacheContainerPath = "/cache";

/** In Mountpoint Pods with a CA of the installation's own: 2.x has the same volumes, container and key. */
export const caBundle = {
  configMapVolume: "custom-ca-cert",
  configMapKey: "ca-bundle.crt",
  rootsVolume: "etc-ssl-certs",
  rootsPath: "/etc/ssl/certs",
  rootsFile: "ca-certificates.crt",
  initContainer: "install-ca-cert",
} as const;

/** The only other place in which a Mountpoint Pod can write, and its working directory. */
export const scratch = { volume: "scratch", containerPath: "/tmp" } as const;

export const mountpointContainer = "mountpoint";

/** The program of the image that Mountpoint Pods run. */
export const mounterCommand = "/bin/scality-s3-csi-mounter";
/** Its first argument in a Mountpoint Pod that waits for a volume, without a limit. */
export const waitArgument = "--wait";

/**
 * The same workload and volume always give the same name, so creation can be repeated after a crash.
 * `generation` counts successors of a Mountpoint Pod that died; 0 is the name that 2.x computes, too.
 */
export function mountpointPodName(workload: PodUid, pv: PvName, generation = 0): PodName {
  const suffix = generation === 0 ? "" : `/${generation}`;
  return `mp-${digest(`${workload}${pv}${suffix}`)}` as PodName;
}

/**
 * A Mountpoint Pod without a volume. Node plugins know mounts by the names of Mountpoint Pods, so a name never comes back for another
 * volume: `term` is unique for each term of a leader, and `number` counts the Pods that it has created for this node.
 */
export function warmPodName(term: string, node: NodeName, number: number): PodName {
  return `mp-warm-${digest(`${term}/${node}/${number}`).slice(0, 40)}` as PodName;
}

/** Whether a Mountpoint Pod of this name was created without a volume. */
export function isWarmPodName(name: string): name is PodName {
  return /^mp-warm-[0-9a-f]{40}$/.test(name);
}

export function isMountpointPodName(name: string): name is PodName {
  return /^mp-[0-9a-f]{56}$/.test(name) || isWarmPodName(name);
}

/** Of the Pod that keeps room for the Mountpoint Pod with the same hash. */
export function headroomPodName(workload: PodUid, pv: PvName): PodName {
  return `hr-${digest(`${workload}${pv}`)}` as PodName;
}

function digest(text: string): string {
  return createHash("sha224").update(text).digest("hex");
}
