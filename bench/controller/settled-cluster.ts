/** The objects of a large cluster in which every workload has its volumes: nothing is to be done. */

import { attachmentName } from "../../src/core/attachment.ts";
import {
  annotations,
  driverName,
  labels,
  mountpointPodName,
  type NodeName,
  type PodUid,
  type PvName,
  type VolumeId,
} from "../../src/core/names.ts";
import type { controllerStatus } from "../../src/reconciler/domain/controller-status.ts";
import type { Existing, Text } from "./memory-api.ts";

export interface Size {
  readonly nodes: number;
  /** Every node has one workload for each of these volumes. */
  readonly volumes: number;
  /** Pods with a claim of another driver. */
  readonly foreignWithClaims: number;
  /** Pods without claims. */
  readonly foreign: number;
}

export const mountpointNamespace = "mount-s3";
export const driverVersion = "3.0.0";
const namespace = "shop";

/** `statusOf` is that of the reconciler that is measured: with its texts no status is to be written. */
export function settledCluster(size: Size, statusOf: typeof controllerStatus): Existing {
  return (plural) => {
    switch (plural) {
      case "pods":
        return podTexts(size);
      case "persistentvolumes":
        return volumeTexts(size);
      case "persistentvolumeclaims":
        return claimTexts(size);
      case "mountpoints3podattachments":
        return each(size, (node, volume) => attachmentText(node, volume, statusOf));
      default:
        return [];
    }
  };
}

export const volumeName = (volume: number) => `pv-${volume}` as PvName;
export const nodeName = (node: number) => `node-${node}.example.com` as NodeName;

export function volumeObject(name: PvName, driver: string = driverName) {
  return {
    metadata: meta({ name, uid: `uid-of-${name}` }),
    spec: { csi: { driver, volumeHandle: name, volumeAttributes: { bucketName: name } } },
  };
}

export function claimObject(name: string, volume: PvName) {
  return {
    metadata: meta({ name, namespace, uid: `uid-of-claim-${name}` }),
    spec: { volumeName: volume },
    status: { phase: "Bound" },
  };
}

export function workloadObject(name: string, node: NodeName, claim: string, phase = "Running") {
  return {
    metadata: meta({ name, namespace, uid: uidOf(name), annotations: { "example.com/padding": padding } }),
    spec: { nodeName: node, volumes: [{ name: "data", persistentVolumeClaim: { claimName: claim } }] },
    status: { phase, startTime: "2026-01-15T12:00:00Z", containerStatuses: [{ name: "app", restartCount: 0 }] },
  };
}

/** 36 characters, as a UID has. */
function uidOf(name: string): PodUid {
  return `${name}-`.padEnd(36, "0") as PodUid;
}

/** A Pod of an API server is seldom smaller. */
const padding = "x".repeat(1500);

function meta(rest: object) {
  return { resourceVersion: "1000", creationTimestamp: "2026-01-15T12:00:00Z", ...rest } as {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
  };
}

function* podTexts(size: Size): Generator<Text> {
  yield* each(size, (node, volume) => JSON.stringify(workloadOf(node, volume)));
  yield* each(size, mountpointPodText);
  yield* numbered(size.foreignWithClaims, (index) =>
    JSON.stringify(workloadObject(`foreign-${index}`, nodeName(index % size.nodes), `claim-of-foreign-${index}`)),
  );
  yield* numbered(size.foreign, (index) => {
    const { spec, ...pod } = workloadObject(`plain-${index}`, nodeName(index % size.nodes), "");
    return JSON.stringify({ ...pod, spec: { nodeName: spec.nodeName } });
  });
}

function* volumeTexts(size: Size): Generator<Text> {
  yield* numbered(size.volumes, (volume) => JSON.stringify(volumeObject(volumeName(volume))));
  yield* numbered(size.foreignWithClaims, (index) =>
    JSON.stringify(volumeObject(`pv-of-foreign-${index}` as PvName, "other.example.com")),
  );
}

function* claimTexts(size: Size): Generator<Text> {
  yield* numbered(size.volumes, (volume) => JSON.stringify(claimObject(`claim-${volume}`, volumeName(volume))));
  yield* numbered(size.foreignWithClaims, (index) =>
    JSON.stringify(claimObject(`claim-of-foreign-${index}`, `pv-of-foreign-${index}` as PvName)),
  );
}

export function workloadOf(node: number, volume: number) {
  return workloadObject(`app-${volume}-${node}`, nodeName(node), `claim-${volume}`);
}

function mountpointPodText(node: number, volume: number): Text {
  const workload = uidOf(`app-${volume}-${node}`);
  const name = mountpointPodName(workload, volumeName(volume));
  return JSON.stringify({
    metadata: meta({
      name,
      namespace: mountpointNamespace,
      uid: uidOf(`mp-${volume}-${node}`),
      labels: { [labels.driverVersion]: driverVersion, [labels.podUid]: workload },
      annotations: {
        [annotations.volumeName]: volumeName(volume),
        [annotations.volumeId]: volumeName(volume),
        [annotations.identity]: "driver",
        "example.com/padding": padding,
      },
    }),
    spec: { nodeName: nodeName(node) },
    status: { phase: "Running", containerStatuses: [{ name: "mountpoint", restartCount: 0, state: { running: {} } }] },
  });
}

function attachmentText(node: number, volume: number, statusOf: typeof controllerStatus): Text {
  const workload = uidOf(`app-${volume}-${node}`);
  const mountpointPod = mountpointPodName(workload, volumeName(volume));
  const key = {
    node: nodeName(node),
    persistentVolume: volumeName(volume),
    volumeId: volumeName(volume) as string as VolumeId,
    mountOptions: "",
    fsGroup: "",
  };
  const spec = {
    nodeName: key.node,
    persistentVolumeName: key.persistentVolume,
    volumeID: key.volumeId,
    mountOptions: "",
    workloadFSGroup: "",
    authenticationSource: "driver",
    mountpointS3PodAttachments: {
      [mountpointPod]: [{ workloadPodUID: workload, attachmentTime: "2026-01-15T12:00:00Z" }],
    },
  };
  const pod = { name: mountpointPod, driverVersion, phase: "running", scheduled: true, restarts: 0 };
  const status = statusOf({
    spec,
    before: undefined,
    now: new Date("2026-01-15T12:00:00Z"),
    mountpointPods: new Map([[mountpointPod, pod as never]]),
    irreplaceable: undefined,
    rolloutOf: () => "outdated",
  });
  return JSON.stringify({
    metadata: meta({ name: attachmentName(key), uid: uidOf(`s3pa-${volume}-${node}`) }),
    spec,
    status,
  });
}

function* each({ nodes, volumes }: Size, textOf: (node: number, volume: number) => Text): Generator<Text> {
  for (let volume = 0; volume < volumes; volume += 1) {
    for (let node = 0; node < nodes; node += 1) yield textOf(node, volume);
  }
}

function* numbered(count: number, textOf: (index: number) => Text): Generator<Text> {
  for (let index = 0; index < count; index += 1) yield textOf(index);
}
