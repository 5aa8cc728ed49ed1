import { expect, it } from "vitest";
import { usualIdentity } from "../../../test/support/fake-credentials.ts";
import type { NodeName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import { parseVolumeAttributes } from "../../core/volume/volume-attributes.ts";
import type { Pod } from "../../kube/kinds.ts";
import { installation } from "../../reconciler/domain/mountpoint-pod/installation.fixture.ts";
import { mountpointPod } from "../../reconciler/domain/mountpoint-pod/mountpoint-pod.ts";
import { localMountpointPodFrom, unusableReason } from "./mountpoint-pods.ts";

const volume = {
  name: "pv" as PvName,
  volumeId: "v" as VolumeId,
  mountOptions: [],
  attributes: parseVolumeAttributes({ bucketName: "b" }),
  credentials: { source: "driver", identity: usualIdentity } as const,
  fallback: undefined,
  readOnly: false,
  cache: undefined,
  claim: undefined,
  moveRequest: undefined,
  live: { annotations: { "live.s3.csi.scality.com/mountOptions": "--debug" }, refusals: [] },
};

function podFrom(status: Pod["status"], driverVersion = "3.0.0"): Pod {
  const purpose = {
    volume,
    identity: usualIdentity,
    workload: "uid" as PodUid,
    node: "node-1" as NodeName,
    generation: 0,
  };
  const { metadata, spec } = mountpointPod({ ...installation, driverVersion }, purpose);
  const given = { uid: "mp-uid", resourceVersion: "1", creationTimestamp: "2026-01-15T10:30:00Z" };
  return {
    metadata: { ...metadata, ...given },
    spec: { ...spec, nodeName: "node-1" },
    ...(status && { status }),
  };
}

it("parses a Pod of the controller", () => {
  expect(localMountpointPodFrom(podFrom({ phase: "Running" }))).toMatchObject({
    uid: "mp-uid",
    phase: "running",
    identity: "driver",
    isLegacy: false,
    needsUnmount: false,
    needsUnmountSince: undefined,
    waiting: undefined,
    lastTermination: undefined,
    live: volume.live.annotations,
  });
});

it.for([
  { version: "2.1.1", isLegacy: true },
  { version: "1.2.0", isLegacy: true },
  { version: "3.0.0-alpha.1", isLegacy: false },
  { version: "20.0.0", isLegacy: false },
])("a Pod made by $version is legacy: $isLegacy", ({ version, isLegacy }) => {
  expect(localMountpointPodFrom(podFrom(undefined, version))?.isLegacy).toBe(isLegacy);
});

it("ignores other Pods of the namespace", () => {
  const { metadata, ...rest } = podFrom({ phase: "Running" });
  const { labels: _, ...unmarked } = metadata;
  expect(localMountpointPodFrom({ ...rest, metadata: unmarked })).toBeUndefined();
});

it("reads the last termination of the container, also after a restart", () => {
  const container = { name: "mountpoint", restartCount: 1 };
  const terminated = { exitCode: 1, message: "Error: x", finishedAt: "2026-01-15T10:30:00Z" };
  const now = podFrom({ containerStatuses: [{ ...container, state: { terminated } }] });
  const later = podFrom({ containerStatuses: [{ ...container, state: { running: {} }, lastState: { terminated } }] });
  for (const pod of [now, later]) expect(localMountpointPodFrom(pod)?.lastTermination).toEqual(terminated);
});

it.for([
  { reason: "ContainerCreating", isUnusable: false },
  { reason: "CrashLoopBackOff", isUnusable: false },
  { reason: "ImagePullBackOff", isUnusable: true },
  { reason: "CreateContainerConfigError", isUnusable: true },
])("$reason makes the Pod unusable: $isUnusable", ({ reason, isUnusable }) => {
  const waiting = { name: "mountpoint", restartCount: 0, state: { waiting: { reason } } };
  const pod = localMountpointPodFrom(podFrom({ phase: "Pending", containerStatuses: [waiting] }));
  expect(pod && unusableReason(pod) !== undefined).toBe(isUnusable);
});

const waitingFor = (name: string, reason: string) => ({ name, restartCount: 0, state: { waiting: { reason } } });

it("reads why the init container that installs a CA waits", () => {
  const status = {
    phase: "Pending",
    initContainerStatuses: [waitingFor("install-ca-cert", "ImagePullBackOff")],
    containerStatuses: [waitingFor("mountpoint", "PodInitializing")],
  } as const;
  const pod = localMountpointPodFrom(podFrom(status));
  expect(pod && unusableReason(pod)).toBe("does not start (ImagePullBackOff)");
});
