import { describe, expect, it } from "vitest";
import { plainStores, usualIdentity } from "../../test/support/fake-credentials.ts";
import { installation } from "../reconciler/domain/mountpoint-pod/installation.fixture.ts";
import { mountpointPod } from "../reconciler/domain/mountpoint-pod/mountpoint-pod.ts";
import { settingsHash } from "../reconciler/domain/mountpoint-pod/settings-hash.ts";
import { identityFor, s3VolumeFrom } from "../reconciler/domain/persistent-volume.ts";
import {
  isAlive,
  isOpen,
  type MountpointPod,
  type MountpointPodObject,
  mountpointPodFrom,
  moveRequestIn,
  noMove,
} from "./mountpoint-pod-state.ts";
import { annotations, labels, mountpointPodName, type NodeName, type PodUid, type PvName } from "./names.ts";

const workload = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
const node = "worker-1" as NodeName;

function volume(secret?: string, name = "data") {
  const csi = {
    driver: "s3.csi.scality.com",
    volumeHandle: "handle",
    volumeAttributes: { bucketName: "b", ...(secret && { authenticationSource: "secret" }) },
    ...(secret && { nodePublishSecretRef: { name: secret, namespace: "shop" } }),
  };
  const found = s3VolumeFrom(plainStores, { metadata: { name }, spec: { csi } });
  if (found === undefined) throw new Error("not of our driver");
  return found;
}

const needed = (secret?: string) => {
  const found = volume(secret);
  return { ...found, identity: identityFor(found, { namespace: "shop", account: "default" }) };
};

/** As the API server returns what we send it. */
function stored(name = "data"): MountpointPodObject {
  const pod = mountpointPod(installation, {
    volume: volume(undefined, name),
    identity: usualIdentity,
    workload,
    node,
    generation: 0,
  });
  const metadata = { uid: "uid-mp", resourceVersion: "7", creationTimestamp: "2026-01-15T10:30:00Z", ...pod.metadata };
  return { ...pod, metadata, status: { phase: "Pending" } };
}

function parsed(change: (pod: MountpointPodObject) => MountpointPodObject = (pod) => pod): MountpointPod {
  const pod = mountpointPodFrom(change(stored()));
  if (pod === undefined) throw new Error("not a Mountpoint Pod");
  return pod;
}

const without = (label: string) => (pod: MountpointPodObject) => {
  const { [label]: _, ...rest } = pod.metadata.labels ?? {};
  return { ...pod, metadata: { ...pod.metadata, labels: rest, annotations: {} } };
};

const marked = (annotation: string) => (pod: MountpointPodObject) => ({
  ...pod,
  metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [annotation]: "true" } },
});

it("reads back what we write", () => {
  expect(parsed()).toEqual({
    name: mountpointPodName(workload, "data" as PvName),
    uid: "uid-mp",
    resourceVersion: "7",
    node,
    persistentVolume: "data",
    volumeId: "handle",
    identity: "driver",
    createdFor: workload,
    createdAt: new Date("2026-01-15T10:30:00Z"),
    driverVersion: "3.0.0",
    phase: "pending",
    terminating: false,
    needsUnmount: false,
    noNewWorkload: false,
    readOnly: false,
    move: noMove,
    settings: settingsHash(installation),
  });
});

it("knows the volume of a Pod whose label cannot hold the name", () => {
  const name = "v".repeat(253);
  expect(mountpointPodFrom(stored(name))?.persistentVolume).toBe(name);
});

it("reads a Pod of 2.x, which says the volume in a label and nothing of the identity", () => {
  const { volumeId, identity, persistentVolume } = parsed((pod) => ({
    ...pod,
    metadata: { ...pod.metadata, annotations: {} },
  }));
  expect({ volumeId, identity, persistentVolume }).toEqual({
    volumeId: undefined,
    identity: undefined,
    persistentVolume: "data",
  });
});

it("takes the node from the scheduler once it has spoken", () => {
  const pod = parsed(({ spec, ...rest }) => ({ ...rest, spec: { ...spec, nodeName: "worker-9" } }));
  expect(pod.node).toBe("worker-9");
});

describe("a Pod is none of ours", () => {
  it.for([
    { because: "its name is another", change: (pod) => ({ ...pod, metadata: { ...pod.metadata, name: "mp-job" } }) },
    { because: "no driver left its version", change: without(labels.driverVersion) },
    { because: "it was made for nobody", change: without(labels.podUid) },
    { because: "it has no volume", change: without(labels.volumeName) },
    { because: "it may run anywhere", change: (pod) => ({ ...pod, spec: {} }) },
  ] satisfies { because: string; change: (pod: MountpointPodObject) => MountpointPodObject }[])(
    "because $because",
    ({ change }) => {
      expect(mountpointPodFrom(change(stored()))).toBeUndefined();
    },
  );
});

it.for([
  { phase: "Pending", alive: true },
  { phase: "Running", alive: true },
  { phase: "Unknown", alive: true },
  { phase: "Succeeded", alive: false }, // LC-13: nobody asked it to end, or it is done
  { phase: "Failed", alive: false },
])("$phase → alive: $alive", ({ phase, alive }) => {
  expect(isAlive(parsed((pod) => ({ ...pod, status: { phase } })))).toBe(alive);
});

describe("LC-2 a Mountpoint Pod that is Pending while another container waits", () => {
  it.for([
    ["runs: its container runs", "mountpoint", { state: { running: {} } }, "running"],
    ["has run: its container has ended", "mountpoint", { state: { terminated: {} } }, "running"],
    ["has run: its container waits after an earlier end", "mountpoint", { lastState: { terminated: {} } }, "running"],
    ["has not run: its container waits, too", "mountpoint", { state: {} }, "pending"],
    ["has not run: only the other container does", "injected", { state: { running: {} } }, "pending"],
  ] as const)("%s", ([, name, container, phase]) => {
    const containerStatuses = [
      { name: "other", state: {} },
      { name, ...container },
    ];
    expect(parsed((pod) => ({ ...pod, status: { phase: "Pending", containerStatuses } })).phase).toBe(phase);
  });
});

describe("a Mountpoint Pod", () => {
  it("is open to workloads of the same identity", () => {
    expect(isOpen(parsed(), needed(), "3.0.0")).toBe(true);
    expect(isOpen(parsed(), needed("keys"), "3.0.0")).toBe(false);
  });

  it.for([
    { because: "another version made it", change: (pod) => pod, version: "3.0.1" },
    { because: "it is to be unmounted", change: marked(annotations.needsUnmount), version: "3.0.0" },
    { because: "an operator closed it", change: marked(annotations.noNewWorkload), version: "3.0.0" },
    {
      because: "it is being deleted",
      change: (pod) => ({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: "2026-01-15T10:31:00Z" } }),
      version: "3.0.0",
    },
    { because: "it has ended", change: (pod) => ({ ...pod, status: { phase: "Succeeded" } }), version: "3.0.0" },
    {
      because: "it mounts another volume of the same name",
      change: (pod) => ({
        ...pod,
        metadata: { ...pod.metadata, annotations: { ...pod.metadata.annotations, [annotations.volumeId]: "former" } },
      }),
      version: "3.0.0",
    },
  ] satisfies { because: string; change: (pod: MountpointPodObject) => MountpointPodObject; version: string }[])(
    "takes no new workload because $because",
    ({ change, version }) => {
      expect(isOpen(parsed(change), needed(), version)).toBe(false);
    },
  );
});

it.for([
  ["2026-11-18\n", "2026-11-18"],
  ["a\n b", "a b"],
  [" ", undefined],
  [undefined, undefined],
] as const)("reads the request %j on one line, so that it is found among those that failed", ([text, request]) => {
  expect(moveRequestIn(text === undefined ? {} : { [annotations.move]: text })).toBe(request);
});
