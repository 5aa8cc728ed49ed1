/** The reconciler against a real API server: from a workload that ends to the last trace of its mount. */
import { beforeAll, expect, it } from "vitest";
import { type NodeView, statusManagers } from "../../src/core/attachment-status.ts";
import { annotations, labels } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { Journal } from "../support/journal.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, isMarked, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

it.for<{ how: string; end: (stage: Stage, workload: Pod) => Promise<void> }>([
  { how: "is deleted", end: (stage, workload) => stage.deletePod(workload) },
  { how: "succeeds", end: (stage, workload) => stage.phase(workload, "Succeeded") },
  { how: "fails", end: (stage, workload) => stage.phase(workload, "Failed") },
])(
  "the last workload $how: the Mountpoint Pod is marked, then forgotten, and deleted once it has ended",
  async ({ end }) => {
    await using stage = await Stage.open(cluster);
    await using journal = await Journal.open(stage);
    await using _ = await ReconcilerProcess.start(stage);
    const { workload, mountpointPod } = await stage.running("app", await stage.volume());
    const beginning = ["Mountpoint Pod made", "attachment lists 1"];

    await end(stage, workload);

    // The mark comes first: whatever happens between the two, nobody forgets a Pod that still mounts (DS-7).
    const marked = [...beginning, "Mountpoint Pod marked", "attachment gone"];
    await expect.poll(() => journal.story, long).toEqual(marked);
    await stage.phase(mountpointPod, "Succeeded");
    await expect.poll(() => journal.story, long).toEqual([...marked, "Mountpoint Pod gone"]);
  },
);

it("a workload that leaves others behind takes only its own entry", async () => {
  await using stage = await Stage.open(cluster);
  await using journal = await Journal.open(stage);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const first = await stage.running("first", claim);
  const second = await stage.workload("second", { claims: [claim] });
  await expect.poll(async () => Object.values(await stage.served()).flat(), long).toHaveLength(2);

  await stage.deletePod(first.workload);

  const { name } = first.mountpointPod.metadata;
  await expect.poll(() => stage.served(), long).toEqual({ [name]: [second.metadata.uid] });
  const lists = ["attachment lists 1", "attachment lists 2", "attachment lists 1"];
  await expect.poll(() => journal.story, long).toEqual(["Mountpoint Pod made", ...lists]);
});

it("DS-8 a workload that is being deleted keeps its Mountpoint Pod while its containers may write, and others may come", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("app", claim, { terminationGracePeriodSeconds: 3600 });
  await stage.deletePod(workload, 3600);
  const { name } = mountpointPod.metadata;

  const newcomer = await stage.workload("newcomer", { claims: [claim] });
  await expect.poll(() => stage.served(), long).toEqual({ [name]: [workload.metadata.uid, newcomer.metadata.uid] });
  expect((await stage.mountpointPods()).map(isMarked)).toEqual([false]);

  await stage.deletePod(newcomer);
  await stage.phase(workload, "Succeeded");
  await expect.poll(async () => (await stage.mountpointPods()).map(isMarked), long).toEqual([true]);
});

it("DS-14 a workload deleted between its container's start and kubelet's report is served to the end of its grace period", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const workload = await stage.workload("app", { claims: [claim], terminationGracePeriodSeconds: 1800 });
  const name = mountpointPodOf(workload, claim);
  await expect.poll(() => stage.served(), long).toEqual({ [name]: [workload.metadata.uid] });
  await stage.phase((await stage.mountpointPod(name)) as Pod, "Running");

  await stage.deletePod(workload, 1800);
  // Once the newcomer is served, the deletion has been seen.
  const newcomer = await stage.workload("newcomer", { claims: [claim] });
  await expect.poll(() => stage.served(), long).toEqual({ [name]: [workload.metadata.uid, newcomer.metadata.uid] });
  await stage.phase(workload, "Running");
  await stage.deletePod(newcomer);
  await expect.poll(() => stage.served(), long).toEqual({ [name]: [workload.metadata.uid] });
  expect((await stage.mountpointPods()).map(isMarked)).toEqual([false]);

  await stage.phase(workload, "Succeeded");
  await expect.poll(async () => (await stage.mountpointPods()).map(isMarked), long).toEqual([true]);
});

it("DS-14 of Mountpoint Pods that do not end, one is deleted when the node reports that nobody uses it, and not before", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const used = await stage.running("used", claim, { fsGroup: 1000 });
  const unused = await stage.running("unused", claim, { fsGroup: 2000 });
  const names = [used, unused].map(({ mountpointPod }) => mountpointPod.metadata.name);
  for (const name of names) await reportOf(stage, name, { health: "serving" });
  // By force: nobody tells whether their containers have ended.
  for (const { workload } of [used, unused]) await stage.deletePod(workload);
  // They stay listed, without workloads, because the node reports there.
  await expect.poll(() => stage.served(), long).toEqual(Object.fromEntries(names.map((name) => [name, []])));
  expect((await stage.mountpointPods()).map(isMarked)).toEqual([true, true]);

  const [inUse = "", notInUse = ""] = names;
  await reportOf(stage, inUse, { health: "serving", inUse: true });
  await reportOf(stage, notInUse, { health: "absent", inUse: false });
  for (const name of names) await markedLongAgo(stage, name);

  const isDeleted = async (name: string) => (await stage.mountpointPod(name))?.metadata.deletionTimestamp !== undefined;
  await expect.poll(() => isDeleted(notInUse), long).toBe(true);
  // Both are on one node and of one volume, so one decision was about both.
  expect(await isDeleted(inUse)).toBe(false);
  await reportOf(stage, inUse, { health: "absent", inUse: false });
  await expect.poll(() => isDeleted(inUse), long).toBe(true);
});

it("DS-14 without a report of the node, a Mountpoint Pod that does not end stays while there is a Node", async () => {
  await using stage = await Stage.open(cluster);
  const flags = ["--cleanup-interval-seconds=1"];
  await using reconciler = await ReconcilerProcess.start(stage, { flags });
  const { workload, mountpointPod } = await stage.running("app", await stage.volume());
  const { name } = mountpointPod.metadata;
  await stage.deletePod(workload);
  await expect.poll(async () => (await stage.mountpointPods()).map(isMarked), long).toEqual([true]);
  await markedLongAgo(stage, name);

  const attempts = () => reconciler.log.split("if its node is gone").length - 1;
  await expect.poll(attempts, long).toBeGreaterThan(1);
  expect((await stage.mountpointPod(name))?.metadata.deletionTimestamp).toBeUndefined();
});

/** What the node plugin writes of a Mountpoint Pod. */
async function reportOf(stage: Stage, name: string, view: NodeView): Promise<void> {
  const attachment = (await stage.attachments()).find(({ spec }) => name in spec.mountpointS3PodAttachments);
  const said = { manager: statusManagers.node, status: { mountpointPods: { [name]: view } } };
  const { uid } = attachment?.metadata ?? { uid: "" };
  await stage.client.applyStatus(stage.call, kinds.attachments, { name: attachment?.metadata.name ?? "", uid }, said);
}

async function markedLongAgo(stage: Stage, name: string): Promise<void> {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const patch = { metadata: { annotations: { [annotations.needsUnmountSince]: since } } };
  await stage.client.patch(stage.call, kinds.pods, { name, namespace: stage.mountpointNamespace }, patch);
}

it("a Mountpoint Pod that never started is deleted with its last workload", async () => {
  await using stage = await Stage.open(cluster);
  await using journal = await Journal.open(stage);
  // A full node: the Pod stays as it was made. Nothing has been mounted, so nobody will unmount it.
  await stage.patch(`/api/v1/nodes/${stage.node}/status`, { status: { allocatable: { pods: "0" } } });
  await using _ = await ReconcilerProcess.start(stage);
  const workload = await stage.workload("app", { claims: [await stage.volume()] });
  await expect.poll(() => stage.served(), long).not.toEqual({});
  await stage.deletePod(workload);
  await expect
    .poll(() => journal.story.slice(2), long)
    .toEqual(["Mountpoint Pod marked", "attachment gone", "Mountpoint Pod gone"]);
});

it("LC-10 options edited under a running workload: it keeps its mount, and all is cleaned up at once when it ends", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume({ mountOptions: ["allow-delete"] });
  const { workload, mountpointPod } = await stage.running("app", claim);
  const options = { spec: { mountOptions: ["read-only", "prefix=other/"] } };
  await stage.client.patch(stage.call, kinds.persistentVolumes, { name: claim }, options);
  // Watches of different kinds are late each by itself. One that shows a later volume has shown the change of this one.
  const later = await stage.running("later", await stage.volume());
  await stage.deletePod(later.workload);
  await expect.poll(async () => (await stage.attachments()).length, long).toBe(1);
  const newcomer = await stage.running("newcomer", claim);
  expect(await stage.served()).toEqual({
    [mountpointPod.metadata.name]: [workload.metadata.uid],
    [newcomer.mountpointPod.metadata.name]: [newcomer.workload.metadata.uid],
  });

  await stage.deletePod(workload);

  await expect.poll(async () => Object.values(await stage.served()), long).toEqual([[newcomer.workload.metadata.uid]]);
  expect((await stage.attachments()).map(({ spec }) => spec.mountOptions)).toEqual(["read-only,prefix=other/"]);
  expect(isMarked((await stage.mountpointPod(mountpointPod.metadata.name)) as Pod)).toBe(true);
  await stage.phase(mountpointPod, "Succeeded");
  await expect.poll(() => stage.mountpointPod(mountpointPod.metadata.name), long).toBeUndefined();
});

it("what ended while no reconciler ran is cleaned up when one starts", async () => {
  await using stage = await Stage.open(cluster);
  const claims = [await stage.volume(), await stage.volume()];
  const reconciler = await ReconcilerProcess.start(stage);
  await using _first = reconciler;
  const [gone, kept] = [await stage.running("gone", claims[1] ?? ""), await stage.running("kept", claims[0] ?? "")];
  expect(await reconciler.stop()).toBe(0);
  await stage.deletePod(gone.workload);

  await using _second = await ReconcilerProcess.start(stage);

  // One that was attached in the second in which the new one began to look is waited for: the API server's times are whole
  // seconds, so it might be on its way (contract 1.6: two minutes).
  await expect
    .poll(() => stage.served(), { ...long, timeout: 240_000 })
    .toEqual({ [kept.mountpointPod.metadata.name]: [kept.workload.metadata.uid] });
  expect(isMarked((await stage.mountpointPod(gone.mountpointPod.metadata.name)) as Pod)).toBe(true);
  expect(isMarked((await stage.mountpointPod(kept.mountpointPod.metadata.name)) as Pod)).toBe(false);
});

it("what was on a node whose object is gone ends, a successor that never found its place included", {
  timeout: 600_000,
}, async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  await stage.running("app", await stage.volume());
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("bereft", claim);
  const elsewhere = await stage.running("elsewhere", claim, { node: stage.otherNode });

  await cluster.kubectl("delete", "node", stage.node);
  // Of the Pods of a lost node, kube-controller-manager takes one after the other; here the Mountpoint Pod comes first.
  await stage.deletePod(mountpointPod);
  await expect
    .poll(async () => (await stage.events(workload)).map(({ message }) => message), long)
    .toEqual([expect.stringContaining("has no place on the node: there is no such node")]);

  // It looks for them three times a minute, and gives each of them forty seconds.
  const left = async () => [...(await stage.attachments()), ...(await stage.mountpointPods())];
  const names = async () => (await left()).map(({ metadata }) => metadata.name);
  const kept = (await stage.attachments()).find(({ spec }) => spec.nodeName === stage.otherNode);
  await expect
    .poll(names, { timeout: 400_000, interval: 500 })
    .toEqual([kept?.metadata.name, elsewhere.mountpointPod.metadata.name]);
  expect(await stage.served()).toEqual({ [elsewhere.mountpointPod.metadata.name]: [elsewhere.workload.metadata.uid] });
});

it("a Mountpoint Pod that nothing refers to is found by the cleanup, once it is old enough", async () => {
  await using stage = await Stage.open(cluster);
  const flags = ["--cleanup-interval-seconds=1", "--stale-threshold-seconds=3"];
  await using reconciler = await ReconcilerProcess.start(stage, { flags });
  // Young when the reconciler hears of it, and nothing happens to it afterwards: only time makes it a leftover.
  await stage.client.create(stage.call, kinds.pods, orphan(stage));
  await expect.poll(async () => (await stage.mountpointPods()).map(isMarked), long).toEqual([true]);
  expect(reconciler.log).toContain("cleanup: no attachment lists it");
});

/** As 2.x makes it, for a workload and a volume that are not there. */
function orphan({ mountpointNamespace: namespace, node }: Stage) {
  const uid = "00000000-0000-0000-0000-000000000000";
  const marks = { [labels.podUid]: uid, [labels.volumeName]: "gone", [labels.driverVersion]: "2.1.1" };
  return {
    metadata: { name: mountpointPodOf({ metadata: { uid } }, "gone"), namespace, labels: marks },
    spec: {
      nodeName: node,
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "mountpoint", image: "driver-of-2-x" }],
    },
  };
}
