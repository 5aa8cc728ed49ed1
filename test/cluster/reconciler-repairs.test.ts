/** The reconciler against a real API server: what dies, is lost or is changed by hand; and what is none of its business. */

import { beforeAll, expect, it } from "vitest";
import { attachmentName } from "../../src/core/attachment.ts";
import type { NodeName, PvName, VolumeId } from "../../src/core/names.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, isMarked, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

it("OP-4 an attachment that was made by hand in the place of the driver's, and that a finalizer keeps, is reported, and the workload is served once it is gone", async () => {
  await using stage = await Stage.open(cluster);
  const claim = await stage.volume();
  const name = attachmentName({
    node: stage.node as NodeName,
    persistentVolume: claim as PvName,
    volumeId: claim as VolumeId,
    mountOptions: "",
    fsGroup: "",
  });
  const spec = {
    nodeName: stage.node,
    persistentVolumeName: claim,
    volumeID: "by-hand",
    mountOptions: "",
    workloadFSGroup: "",
  };
  const byHand = {
    metadata: { name, finalizers: ["example.com/by-hand"] },
    spec: { ...spec, mountpointS3PodAttachments: { "mp-by-hand": [] } },
  };
  await stage.client.create(stage.call, kinds.attachments, byHand);
  await using _ = await ReconcilerProcess.start(stage);
  const app = await stage.workload("app", { claims: [claim] });
  const told = { type: "Warning", reason: "AttachmentRefused", message: expect.stringContaining(`s3pa ${name}`) };
  await expect.poll(() => stage.events(app), long).toContainEqual(expect.objectContaining(told));
  await cluster.kubectl(
    "patch",
    "s3pa",
    name,
    "--type=merge",
    "-p",
    JSON.stringify({ metadata: { finalizers: null } }),
  );
  await expect.poll(() => stage.served(), long).toEqual({ [mountpointPodOf(app, claim)]: [app.metadata.uid] });
});

it.for<{ how: string; end: (stage: Stage, pod: Pod) => Promise<void> }>([
  { how: "fails", end: (stage, pod) => stage.phase(pod, "Failed") },
  { how: "is evicted", end: (stage, pod) => stage.phase(pod, "Failed", { reason: "Evicted" }) },
  { how: "succeeds unasked", end: (stage, pod) => stage.phase(pod, "Succeeded") },
  { how: "is deleted by force", end: (stage, pod) => stage.deletePod(pod) },
])("LC-2 a Mountpoint Pod that $how while it serves gets a successor for all its workloads", async ({ end }) => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("first", claim);
  const second = await stage.workload("second", { claims: [claim] });
  await expect.poll(async () => Object.values(await stage.served()).flat(), long).toHaveLength(2);

  await end(stage, mountpointPod);

  const old = mountpointPod.metadata.name;
  const uids = new Set([workload.metadata.uid, second.metadata.uid]);
  const successors = async () =>
    Object.entries(await stage.served()).map(([name, served]) => ({ isNew: name !== old, served: new Set(served) }));
  await expect.poll(successors, long).toEqual([{ isNew: true, served: uids }]);
  await expect
    .poll(async () => (await stage.mountpointPods()).map(({ metadata }) => metadata.name), long)
    .toEqual(Object.keys(await stage.served()));
  expect((await stage.mountpointPods()).map(isMarked)).toEqual([false]);
});

it("LC-2 a Mountpoint Pod that is being deleted gets no newcomer, keeps those that end, too, and loses those that stay", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload: ending, mountpointPod } = await stage.running("ending", claim, {
    terminationGracePeriodSeconds: 600,
  });
  const staying = await stage.workload("staying", { claims: [claim] });
  const { name: old } = mountpointPod.metadata;
  await expect.poll(() => stage.served(), long).toEqual({ [old]: [ending.metadata.uid, staying.metadata.uid] });
  await stage.phase(staying, "Running");
  await stage.deletePod(ending, 600);
  await stage.deletePod(mountpointPod, 600);
  const newcomer = await stage.workload("newcomer", { claims: [claim] });

  const others = [newcomer.metadata.uid, staying.metadata.uid];
  await expect
    .poll(() => stage.served(), long)
    .toEqual({ [old]: [ending.metadata.uid], [mountpointPodOf(newcomer, claim)]: others });
  expect((await stage.mountpointPods()).map(isMarked)).toEqual([false, false]);
});

it("LC-2 a Mountpoint Pod without a place on the node gets no newcomer, and one that finds a place serves them all", async () => {
  await using stage = await Stage.open(cluster);
  const node = `/api/v1/nodes/${stage.node}/status`;
  await stage.patch(node, { status: { allocatable: { pods: "0" } } });
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const first = await stage.workload("first", { claims: [claim] });
  await expect
    .poll(() => stage.events(first), long)
    .toMatchObject([{ type: "Warning", reason: "MountpointPodUnschedulable" }]);
  const second = await stage.workload("second", { claims: [claim] });
  const uids = [first, second].map(({ metadata }) => metadata.uid);
  await expect
    .poll(() => stage.served(), long)
    .toEqual({ [mountpointPodOf(first, claim)]: [uids[0]], [mountpointPodOf(second, claim)]: [uids[1]] });

  // Room for one more: both workloads count, too.
  await stage.patch(node, { status: { allocatable: { pods: "3" } } });
  const served = async () => Object.values(await stage.served()).map((list) => list.toSorted());
  await expect.poll(served, long).toEqual([uids.toSorted()]);
  await expect.poll(async () => (await stage.mountpointPods()).map(isMarked), long).toEqual([false]);
});

it("LC-2 a Mountpoint Pod whose container was killed for its memory gets no newcomer, keeps its workloads while kubelet starts it again, and loses them when kubelet lets it wait", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("first", claim);
  const terminated = { reason: "OOMKilled", exitCode: 137, startedAt: null, finishedAt: null };
  const state = { terminated };
  const container = { name: "mountpoint", image: "driver", imageID: "", ready: false, state };
  await stage.phase(mountpointPod, "Running", { containerStatuses: [{ ...container, restartCount: 0 }] });
  const newcomer = await stage.workload("newcomer", { claims: [claim] });
  const other = mountpointPodOf(newcomer, claim);
  await expect
    .poll(() => stage.served(), long)
    .toEqual({ [mountpointPod.metadata.name]: [workload.metadata.uid], [other]: [newcomer.metadata.uid] });

  await stage.phase(mountpointPod, "Running", { containerStatuses: [{ ...container, restartCount: 1 }] });
  await expect.poll(() => stage.served(), long).toEqual({ [other]: [newcomer.metadata.uid, workload.metadata.uid] });
  const old = async () => (await stage.mountpointPod(mountpointPod.metadata.name))?.metadata.deletionTimestamp;
  await expect.poll(old, long).toBeDefined();
});

it("LC-9 an attachment deleted by hand comes back with all its workloads, and a workload of v1 is left alone", async () => {
  await using stage = await Stage.open(cluster);
  const [claim, claimOfV1] = [await stage.volume(), await stage.volume()];
  const v1 = await stage.workload("v1", { claims: [claimOfV1] });
  await stage.phase(v1, "Running"); // mounted before there was a reconciler
  await using _ = await ReconcilerProcess.start(stage);
  const { workload } = await stage.running("first", claim);
  const second = await stage.workload("second", { claims: [claim] });
  const served = { [mountpointPodOf(workload, claim)]: [workload.metadata.uid, second.metadata.uid] };
  await expect.poll(() => stage.served(), long).toEqual(served);
  await stage.phase(second, "Running");
  const [lost] = await stage.attachments();

  await cluster.kubectl("delete", "s3pa", lost?.metadata.name ?? "");

  await expect.poll(() => stage.served(), long).toEqual(served);
  const [restored] = await stage.attachments();
  expect(restored?.metadata.uid).not.toBe(lost?.metadata.uid);
  expect(keyOf(restored)).toEqual(keyOf(lost));
  // A place is looked at as a whole: when its newcomer is served, the one of v1 has been passed over.
  const newcomer = await stage.workload("newcomer", { claims: [claimOfV1] });
  await expect
    .poll(() => stage.served(), long)
    .toEqual({ ...served, [mountpointPodOf(newcomer, claimOfV1)]: [newcomer.metadata.uid] });
});

it("LC-9 a running sharer that is missing in the list gets its own line back; one that ran before the attachment is left alone", async () => {
  await using stage = await Stage.open(cluster);
  const claim = await stage.volume();
  const v1 = await stage.workload("v1", { claims: [claim] });
  await stage.phase(v1, "Running", startedAt("2026-01-15T10:00:00Z"));
  await using _ = await ReconcilerProcess.start(stage);
  const { workload, mountpointPod } = await stage.running("first", claim);
  const sharer = await stage.workload("sharer", { claims: [claim] });
  const { name } = mountpointPod.metadata;
  const served = { [name]: [workload.metadata.uid, sharer.metadata.uid] };
  await expect.poll(() => stage.served(), long).toEqual(served);
  await stage.phase(sharer, "Running", startedAt(new Date().toISOString().replace(/\.\d+Z$/, "Z")));
  const [attachment] = await stage.attachments();
  const alone = { spec: { mountpointS3PodAttachments: { [name]: [entry(workload.metadata.uid)] } } };
  const ref = { name: attachment?.metadata.name ?? "" };
  const changed = await stage.client.patch(stage.call, kinds.attachments, ref, alone);
  expect(changed.spec.mountpointS3PodAttachments[name]).toHaveLength(1);

  await expect.poll(() => stage.served(), long).toEqual(served);
});

it.for<{ change: string; make: (real: string, uid: string) => object }>([
  { change: "a workload that does not exist", make: (real) => ({ [real]: [entry("x"), entry("y")] }) },
  { change: "a Mountpoint Pod that does not exist", make: (real, uid) => ({ [real]: null, "mp-0": [entry(uid)] }) },
  { change: "nothing", make: (real) => ({ [real]: null }) },
])("an attachment made to list $change is put right", async ({ make }) => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const { workload, mountpointPod } = await stage.running("app", await stage.volume());
  const [attachment] = await stage.attachments();
  const { uid } = workload.metadata;
  const spec = { mountpointS3PodAttachments: make(mountpointPod.metadata.name, uid) };
  const ref = { name: attachment?.metadata.name ?? "" };
  const changed = await stage.client.patch(stage.call, kinds.attachments, ref, { spec });
  expect(changed.spec.mountpointS3PodAttachments).not.toEqual(attachment?.spec.mountpointS3PodAttachments);

  await expect.poll(() => stage.served(), long).toEqual({ [mountpointPod.metadata.name]: [uid] });
  expect((await stage.mountpointPods()).map(isMarked)).toEqual([false]);
});

it("SE-1 a Job in the namespace of Mountpoint Pods is served like any workload, and its Pod survives its success", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const namespace = stage.mountpointNamespace;
  const claim = await stage.volume({ namespace });
  await cluster.apply(job(stage, claim));
  const ofJob = async () =>
    (await stage.mountpointPods()).filter(({ metadata }) => metadata.name.startsWith("foreign-"));
  await expect.poll(ofJob, long).toHaveLength(1);
  const [pod] = (await ofJob()) as [Pod];
  await expect.poll(() => stage.served(), long).toEqual({ [mountpointPodOf(pod, claim)]: [pod.metadata.uid] });

  await stage.phase(pod, "Succeeded");

  // The Mountpoint Pod is marked because of this success, so the reconciler has seen it.
  const marked = async () => (await stage.mountpointPods()).filter(isMarked).map(({ metadata }) => metadata.name);
  await expect.poll(marked, long).toEqual([mountpointPodOf(pod, claim)]);
  await expect.poll(() => stage.served(), long).toEqual({});
  await cluster.kubectl("wait", "--for=condition=Complete", "job/foreign", "-n", namespace, "--timeout=60s");
  expect((await ofJob()).map(({ metadata }) => metadata.uid)).toEqual([pod.metadata.uid]);
});

/** When kubelet had mounted its volumes and made its sandbox. */
function startedAt(lastTransitionTime: string): object {
  return { conditions: [{ type: "PodReadyToStartContainers", status: "True", lastTransitionTime }] };
}

function entry(workloadPodUID: string): object {
  return { workloadPodUID, attachmentTime: "2026-01-15T10:30:00Z" };
}

function keyOf(attachment: MountpointS3PodAttachment | undefined): object {
  const { mountpointS3PodAttachments: _, ...key } = attachment?.spec ?? ({} as MountpointS3PodAttachment["spec"]);
  return key;
}

function job(stage: Stage, claimName: string): object {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "foreign", namespace: stage.mountpointNamespace },
    spec: {
      template: {
        spec: {
          nodeName: stage.node,
          restartPolicy: "Never",
          terminationGracePeriodSeconds: 0,
          tolerations: [{ operator: "Exists" }],
          containers: [{ name: "app", image: "app" }],
          volumes: [{ name: "data", persistentVolumeClaim: { claimName } }],
        },
      },
    },
  };
}
