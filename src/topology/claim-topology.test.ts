import { expect, it } from "vitest";
import { buildTopology } from "./build-topology.ts";
import { cluster, metadata } from "./cluster.fixture.ts";
import type { Claim, EventObject, Pod } from "./objects.ts";

const ours = { "volume.kubernetes.io/storage-provisioner": "s3.csi.scality.com" };

function claim(but: Partial<Claim> = {}): Claim {
  return {
    metadata: { ...metadata("claim", "shop"), annotations: ours },
    spec: { volumeName: "pvc-1", storageClassName: "s3" },
    status: { phase: "Bound" },
    ...but,
  };
}

function event(reason: string, message: string, uid = "uid-of-app", at = "2026-01-15T10:05:00Z"): EventObject {
  return { metadata: metadata(`${reason}-${at}`), reason, message, lastTimestamp: at, involvedObject: { uid } };
}

/** As a tenant reads it: nothing of the cluster, and the own namespace. */
function seen({ claims = [claim()], pods = cluster().workloads, events = [] as readonly EventObject[] } = {}) {
  const unreadable = ["PersistentVolumes: forbidden"];
  const rest = { volumes: [], attachments: [], mountpointPods: [], claimsOnly: true, unreadable };
  return buildTopology(cluster({ ...rest, claims, workloads: pods, events }));
}

function pending(): Pod {
  const [app] = cluster().workloads;
  if (app === undefined) throw new Error("the fixture has a workload");
  return { ...app, status: { phase: "Pending" } };
}

it("OP-5 a tenant sees claims with their Pods in place of PersistentVolumes, and what is not readable", () => {
  const { volumes, unreadable } = seen();
  expect(volumes).toMatchObject([
    {
      name: "pvc-1",
      claim: { namespace: "shop", name: "claim" },
      health: "ok",
      bucket: "",
      attachments: [
        { node: "worker-1", mountpointPods: [{ name: "", workloads: [{ name: "app", phase: "Running" }] }] },
      ],
    },
  ]);
  expect(unreadable).toEqual(["PersistentVolumes: forbidden"]);
});

it("a tenant does not see claims that name another driver, but those that name none", () => {
  const named = (name: string, annotations: Record<string, string>): Claim =>
    claim({ metadata: { ...metadata(name, "shop"), annotations }, spec: { volumeName: name } });
  const foreign = named("foreign", { "volume.beta.kubernetes.io/storage-provisioner": "ebs.csi.aws.com" });
  const { volumes } = seen({ claims: [foreign, named("static", {}), claim()], pods: [] });
  expect(volumes.map(({ name, provisioning, health }) => ({ name, provisioning, health }))).toEqual([
    { name: "pvc-1", provisioning: "dynamic", health: "idle" },
    { name: "static", provisioning: "static", health: "idle" },
  ]);
});

it.each([
  { why: "a Pod that is being started", events: [], health: "waiting", problems: [] },
  {
    why: "a mount that fails",
    events: [event("FailedMount", 'MountVolume.SetUp failed for volume "pvc-1" : no such bucket')],
    health: "problem",
    problems: ['worker-1: MountVolume.SetUp failed for volume "pvc-1" : no such bucket'],
  },
  {
    why: "a mount of another volume that fails",
    events: [event("FailedMount", 'MountVolume.SetUp failed for volume "pvc-12" : no such host')],
    health: "waiting",
    problems: [],
  },
  { why: "an event that says nothing of volumes", events: [event("BackOff", "x")], health: "waiting", problems: [] },
])("OP-4 a tenant sees $why", ({ events, health, problems }) => {
  expect(seen({ pods: [pending()], events }).volumes).toMatchObject([{ health, problems }]);
});

it("OP-4 a tenant sees a mount that died under a running Pod until it is healed", () => {
  const died = event("VolumeNotHealed", "mount-s3 ended");
  const healed = event("VolumeHealed", "mount-s3 ended, and was replaced", "uid-of-app", "2026-01-15T10:06:00Z");
  const before = event("FailedMount", "not yet", "uid-of-app", "2026-01-15T10:01:00Z");
  expect(seen({ events: [before] }).volumes).toMatchObject([{ health: "ok", problems: [] }]);
  expect(seen({ events: [died, before] }).volumes).toMatchObject([{ health: "problem" }]);
  expect(seen({ events: [healed, died] }).volumes).toMatchObject([{ health: "ok", problems: [] }]);
});

it("OP-4 a tenant sees why a claim gets no bucket", () => {
  const waiting = claim({ spec: { storageClassName: "s3" }, status: { phase: "Pending" } });
  const failed = event("ProvisioningFailed", "the Secret lacks access_key_id", "uid-of-claim");
  expect(seen({ claims: [waiting], pods: [] }).volumes).toMatchObject([{ name: "claim", health: "waiting" }]);
  expect(seen({ claims: [waiting], pods: [], events: [failed] }).volumes).toMatchObject([
    { health: "problem", problems: ["the Secret lacks access_key_id"] },
  ]);
});
