import { expect, it } from "vitest";
import { usualIdentity } from "../../../../test/support/fake-credentials.ts";
import { mountpointPodFrom, type WaitingPod, waitingPodFrom } from "../../../core/mountpoint-pod-state.ts";
import { isMountpointPodName, type NodeName, type PodUid, warmPodName } from "../../../core/names.ts";
import { plainCache } from "../../../core/volume/cache-volume.ts";
import { parseVolumeAttributes } from "../../../core/volume/volume-attributes.ts";
import { attachment, ofSecret, volume, w1 } from "../../decision/situation.fixture.ts";
import { installation } from "./installation.fixture.ts";
import { mountpointPod } from "./mountpoint-pod.ts";
import { reportFrom } from "./mountpoint-pod-report.ts";
import {
  assignedPod,
  assignmentPatch,
  type ReportedWaitingPod,
  takesWarmPod,
  warmPod,
  warmSettings,
} from "./warm-pod.ts";

const node = "worker-1" as NodeName;
const name = warmPodName("term", node, 0);
const owner = { name: "s3-csi-warm", uid: "uid-of-owner" };
const purpose = { name, node, owner, settings: warmSettings(installation) };
const made = () => warmPod(installation, purpose);
const own = () => mountpointPod(installation, { volume, identity: usualIdentity, workload: w1, node, generation: 0 });

/** As the API server stores it. */
function stored(changes: object = {}) {
  const pod = made();
  const metadata = { uid: "uid", resourceVersion: "7", creationTimestamp: "2026-01-15T10:00:00Z" };
  return { ...pod, metadata: { ...pod.metadata, ...metadata, ...changes }, status: { phase: "Running" } };
}

function observedPod(): ReportedWaitingPod {
  return { ...(waitingPodFrom(stored()) as WaitingPod), ...reportFrom(stored()) };
}

it("WM-1 a waiting Pod is an ordinary one: same image, security, priority class, affinity; only its arguments differ", () => {
  const waiting = made().spec;
  const [container] = waiting.containers;
  expect(container?.args).toEqual(["--wait"]);
  const { args: _args, ...rest } = container ?? {};
  expect({ ...waiting, containers: [rest] }).toEqual(own().spec);
});

it("WM-1 keeps the arguments of an ordinary one behind its own", () => {
  const config = { ...installation, resources: { requests: {}, limits: { memory: "1Gi" } } };
  const args = warmPod(config, purpose).spec.containers[0]?.args;
  expect(args).toEqual(["--wait", "--memory-target=972"]);
});

it("WM-1 names no volume and no workload until it has one, and ends with its owner", () => {
  const { labels, annotations, ownerReferences } = made().metadata;
  expect(labels).toMatchObject({ "s3.csi.scality.com/warm": "waiting" });
  const keys = [...Object.keys(labels), ...Object.keys(annotations)];
  for (const key of ["pod-uid", "volume-name", "volume-id", "authentication-source"])
    expect(keys).not.toContain(`s3.csi.scality.com/${key}`);
  expect(ownerReferences).toEqual([{ apiVersion: "v1", kind: "ConfigMap", ...owner, controller: true }]);
});

it("WM-1 the name is that of a Mountpoint Pod, and another one in every term, on every node, for every Pod", () => {
  const names = [
    name,
    warmPodName("next", node, 0),
    warmPodName("term", "w2" as NodeName, 0),
    warmPodName("term", node, 1),
  ];
  expect(new Set(names).size).toBe(4);
  expect(names.every(isMountpointPodName)).toBe(true);
  expect(name).toMatch(/^mp-/);
});

it("WM-1 is read as a waiting Pod, and as no Mountpoint Pod of a volume", () => {
  expect(mountpointPodFrom(stored())).toBeUndefined();
  expect(waitingPodFrom(stored())).toMatchObject({
    name,
    node,
    phase: "running",
    warmSettings: warmSettings(installation),
  });
});

it("WM-1 the patch makes it a Mountpoint Pod of the volume, and no owner ends it any more", () => {
  const assigned = assignedPod(observedPod(), attachment({ [name]: [w1] }).spec, volume);
  const { metadata } = assignmentPatch(assigned, volume) as { metadata: ReturnType<typeof stored>["metadata"] };
  const { labels, annotations } = made().metadata;
  const patched = stored({
    ...metadata,
    labels: { ...labels, ...metadata.labels },
    annotations: { ...annotations, ...metadata.annotations },
  });
  expect(waitingPodFrom(patched)).toBeUndefined();
  const {
    problem: _problem,
    restarts: _restarts,
    scheduled: _scheduled,
    deletionAskedAt: _asked,
    ...expected
  } = assigned;
  expect(mountpointPodFrom(patched)).toEqual(expected);
  expect(metadata).toMatchObject({ uid: "uid", resourceVersion: "7", ownerReferences: null });
});

it("WM-1 one whose workload has left before it got its labels is a Mountpoint Pod all the same", () => {
  const assigned = assignedPod(observedPod(), attachment({ [name]: [] }).spec, undefined);
  expect(assigned.createdFor).toBe("unknown" as PodUid);
});

it.for([
  ["an ordinary volume", {}, true],
  ["mount options", { mountOptions: ["allow-delete", "prefix a/"] }, true],
  ["a Secret of its own", { credentials: ofSecret }, true],
  ["a claim and a request to move", { claim: "shop/data", moveRequest: "1" }, true],
  ["a read-only PersistentVolume", { readOnly: true }, false],
  ["a cache by mount option", { cache: plainCache }, false],
  [
    "a live option",
    { live: { annotations: { "live.s3.csi.scality.com/mountOptions": "debug" }, refusals: [] } },
    false,
  ],
  ["a live option that is refused", { live: { annotations: {}, refusals: ["x"] } }, true],
] as const)("WM-2 %s: may take a waiting Pod: %s", ([, but, takes]) => {
  expect(takesWarmPod(installation, { ...volume, ...but })).toBe(takes);
});

it.for([
  [{ mountpointContainerResourcesRequestsMemory: "64Mi" }, false],
  [{ mountpointContainerResourcesLimitsCpu: "1" }, false],
  [{ mountpointPodServiceAccountName: "mounter" }, false],
  [{ cache: "emptyDir", cacheEmptyDirSizeLimit: "1Gi" }, false],
  [{ "mountpointEnv.HTTPS_PROXY": "http://proxy" }, false],
  [{ "mountpointEnv.HTTPS_PROXY": "" }, false],
  [{ mountPidNamespace: "host" }, false],
  [{ region: "eu-west-1" }, true],
  [{ authenticationSource: "driver" }, true],
] as const)("WM-2 a volume with the attributes %j: may take a waiting Pod: %s", ([raw, takes]) => {
  const attributes = parseVolumeAttributes({ bucketName: "b", ...raw });
  expect(takesWarmPod(installation, { ...volume, attributes, cache: attributes.cache })).toBe(takes);
});

it.for([
  ["image", { image: "driver:3.0.1" }],
  ["version of mount-s3", { mountpointVersion: "1.25.0" }],
  ["version of the driver", { driverVersion: "3.0.1" }],
  ["priority class", { priorityClassName: "other" }],
  ["labels", { extra: { labels: { team: "a" }, annotations: {} } }],
  ["tolerations", { tolerations: [] }],
] as const)("WM-1 a change of the %s makes other settings", ([, but]) => {
  expect(warmSettings({ ...installation, ...but })).not.toBe(warmSettings(installation));
});
