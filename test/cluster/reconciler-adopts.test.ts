/** The reconciler against a real API server: what a controller of 2.x has left behind. */
import { beforeAll, expect, it } from "vitest";
import { labels } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { ifItIsThere, installAttachmentKind, isMarked, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

it("LC-7 duplicate attachments of 2.x become one, which workloads join and leave, and no Mountpoint Pod in use is touched", async () => {
  await using stage = await Stage.open(cluster);
  const claim = await stage.volume();
  const [first, second, both] = [
    await left(stage, "first", claim),
    await left(stage, "second", claim),
    await left(stage, "both", claim),
  ];
  await seed(stage, claim, "a", { [first.host]: [first.uid], [both.host]: [both.uid] });
  await seed(stage, claim, "b", { [second.host]: [second.uid], [both.host]: [both.uid] });
  await seed(stage, claim, "c", { [both.host]: [both.uid] });
  expect(await stage.attachments()).toHaveLength(3);

  await using _ = await ReconcilerProcess.start(stage);

  await expect.poll(async () => (await stage.attachments()).length, long).toBe(1);
  const served = { [first.host]: [first.uid], [second.host]: [second.uid], [both.host]: [both.uid] };
  expect(await stage.served()).toEqual(served);
  expect((await stage.mountpointPods()).filter(isMarked)).toEqual([]);

  const { metadata: newcomer } = await stage.workload("newcomer", { claims: [claim] });
  const own = { [mountpointPodOf({ metadata: newcomer }, claim)]: [newcomer.uid] };
  await expect.poll(() => stage.served(), long).toEqual({ ...served, ...own });

  for (const { pod } of [first, second, both]) await stage.deletePod(pod);
  await expect.poll(() => stage.served(), long).toEqual(own);
  const marked = async () => (await stage.mountpointPods()).filter(isMarked).map(({ metadata }) => metadata.name);
  expect((await marked()).toSorted()).toEqual([first.host, second.host, both.host].toSorted());
  expect(await stage.attachments()).toHaveLength(1);
});

it("attachments and Mountpoint Pods of 2.x serve on, get no newcomer, are joined by no second attachment, and end by our hand", async () => {
  await using stage = await Stage.open(cluster);
  const claim = await stage.volume();
  const old = await left(stage, "old", claim);
  await seed(stage, claim, "a", { [old.host]: [old.uid] });
  await using _ = await ReconcilerProcess.start(stage);
  const { metadata: newcomer } = await stage.workload("newcomer", { claims: [claim] });
  const own = { [mountpointPodOf({ metadata: newcomer }, claim)]: [newcomer.uid] };
  await expect.poll(() => stage.served(), long).toEqual({ [old.host]: [old.uid], ...own });
  expect(await stage.attachments()).toHaveLength(1);
  expect((await stage.attachments())[0]?.spec).not.toHaveProperty("authenticationSource");

  await stage.deletePod(old.pod);

  await expect.poll(() => stage.served(), long).toEqual(own);
  const host = (await stage.mountpointPod(old.host)) as Pod;
  expect(isMarked(host)).toBe(true);
  await stage.phase(host, "Succeeded");
  await expect.poll(() => stage.mountpointPod(old.host), long).toBeUndefined();
});

it("a field that 2.x has dropped from an attachment costs nobody a mount", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("first", claim);
  const [attachment] = await stage.attachments();
  const dropped = { spec: { authenticationSource: null } };
  await stage.client.patch(stage.call, kinds.attachments, { name: attachment?.metadata.name ?? "" }, dropped);
  const second = await stage.workload("second", { claims: [claim] });
  await expect
    .poll(async () => Object.values(await stage.served()).flat(), long)
    .toEqual([workload.metadata.uid, second.metadata.uid]);
  expect(Object.keys(await stage.served())).toContain(mountpointPod.metadata.name);
  expect(await stage.attachments()).toHaveLength(1);
});

it("a Mountpoint Pod of 2.x that crashes again and again is replaced for its workload and removed", async () => {
  await using stage = await Stage.open(cluster);
  const claim = await stage.volume();
  const old = await left(stage, "old", claim);
  await seed(stage, claim, "a", { [old.host]: [old.uid] });
  await crash(stage, old.host);
  await using _ = await ReconcilerProcess.start(stage);
  await expect.poll(async () => Object.values(await stage.served()), long).toEqual([[old.uid]]);
  await expect.poll(() => stateOf(stage, old.host), long).toBe("gone");
  expect(Object.keys(await stage.served())).not.toContain(old.host);
  expect((await stage.mountpointPods()).map(isMarked)).toEqual([false]);
});

it.for([
  { how: "runs without an attachment", makeSo: async () => undefined, becomes: "marked" },
  { how: "crashes without an attachment", makeSo: crash, becomes: "gone" },
  { how: "failed without an attachment", makeSo: fail, becomes: "gone" },
])("a Mountpoint Pod of 2.x that $how, for a workload that is gone, is $becomes", async ({ makeSo, becomes }) => {
  await using stage = await Stage.open(cluster);
  const old = await left(stage, "old", await stage.volume());
  await makeSo(stage, old.host);
  await stage.deletePod(old.pod);
  const flags = ["--cleanup-interval-seconds=1", "--stale-threshold-seconds=1"];
  await using _ = await ReconcilerProcess.start(stage, { flags });
  await expect.poll(() => stateOf(stage, old.host), long).toBe(becomes);
});

/** One that is deleted is let go of, as kubelet does it. */
async function stateOf(stage: Stage, host: string): Promise<"there" | "marked" | "gone"> {
  const pod = await stage.mountpointPod(host);
  if (pod === undefined) return "gone";
  if (pod.metadata.deletionTimestamp !== undefined) await ifItIsThere(stage.deletePod(pod));
  return isMarked(pod) ? "marked" : "there";
}

async function crash(stage: Stage, host: string): Promise<void> {
  const terminated = { exitCode: 255, reason: "Error", startedAt: null, finishedAt: null };
  const state = { state: { waiting: { reason: "CrashLoopBackOff" } }, lastState: { terminated } };
  const container = { name: "mountpoint", image: "i", imageID: "", ready: false, restartCount: 7, ...state };
  await stage.phase((await stage.mountpointPod(host)) as Pod, "Running", { containerStatuses: [container] });
}

async function fail(stage: Stage, host: string): Promise<void> {
  await stage.phase((await stage.mountpointPod(host)) as Pod, "Failed");
}

interface Left {
  readonly pod: Pod;
  readonly uid: string;
  /** Its Mountpoint Pod. */
  readonly host: string;
}

/** A running workload and its Mountpoint Pod, as 2.2.0 made it. */
async function left(stage: Stage, name: string, claim: string): Promise<Left> {
  const pod = await stage.workload(name, { claims: [claim] });
  await stage.phase(pod, "Running");
  const host = mountpointPodOf(pod, claim);
  const metadata = {
    name: host,
    namespace: stage.mountpointNamespace,
    labels: {
      [labels.mountpointVersion]: "1.19.0",
      [labels.podUid]: pod.metadata.uid,
      [labels.volumeName]: claim,
      [labels.driverVersion]: "2.1.1",
    },
  };
  const spec = {
    nodeName: stage.node,
    tolerations: [{ operator: "Exists" }],
    containers: [{ name: "mountpoint", image: "driver-of-2-x" }],
  };
  const made = await stage.client.create(stage.call, kinds.pods, { metadata, spec } as { metadata: typeof metadata });
  await stage.phase(made, "Running");
  return { pod, uid: pod.metadata.uid, host };
}

/** 2.x knows six fields, and gives random names. */
async function seed(stage: Stage, claim: string, letter: string, lists: Readonly<Record<string, readonly string[]>>) {
  const volume = await stage.client.get(stage.call, kinds.persistentVolumes, { name: claim });
  const served = Object.entries(lists).map(([host, uids]) => [
    host,
    uids.map((workloadPodUID) => ({ workloadPodUID, attachmentTime: "2026-01-15T10:30:00Z" })),
  ]);
  const metadata = { name: `s3pa-${letter}${stage.name}` };
  const spec = {
    nodeName: stage.node,
    persistentVolumeName: claim,
    volumeID: volume?.spec.csi?.volumeHandle,
    mountOptions: (volume?.spec.mountOptions ?? []).join(","),
    workloadFSGroup: "",
    mountpointS3PodAttachments: Object.fromEntries(served),
  };
  await stage.client.create(stage.call, kinds.attachments, { metadata, spec } as { metadata: typeof metadata });
}
