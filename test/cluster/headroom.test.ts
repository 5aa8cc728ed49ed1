/** Room for Mountpoint Pods, with a real API server and the real scheduler; the nodes exist on paper. */
import { beforeAll, expect, it } from "vitest";
import { headroom, headroomPodName, type PodUid, type PvName } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { headroomFlags, isGated, isHeadroomPod, priorityClasses } from "../support/headroom.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();
const gates = [headroom.gate];

beforeAll(() => installAttachmentKind(cluster));

it("LC-19 a gated workload is marked, gets a headroom Pod, is let go, and its Mountpoint Pod may preempt", async () => {
  await using stage = await Stage.open(cluster);
  await using classes = await priorityClasses(stage);
  await using _ = await ReconcilerProcess.start(stage, { flags: headroomFlags(classes) });
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim], gates });

  await expect
    .poll(async () => (await stage.mountpointPod(mountpointPodOf(app, claim)))?.metadata.name, long)
    .toBeTruthy();
  const { uid } = app.metadata;
  expect(await current(stage, app)).toMatchObject({
    metadata: { labels: { [headroom.workloadLabel]: uid } },
    spec: { nodeName: stage.node },
  });
  const mountpointPod = await stage.mountpointPod(mountpointPodOf(app, claim));
  expect(mountpointPod?.spec.priorityClassName).toBe(classes.preempting);
  const name = headroomPodName(uid as PodUid, claim as PvName);
  expect(await stage.mountpointPod(name)).toMatchObject({
    metadata: { labels: { [headroom.podLabel]: uid, [headroom.volumeLabel]: claim } },
    spec: { priorityClassName: classes.headroom },
  });
  // The scheduler finds its demands possible, beside the workload and nowhere else.
  await expect.poll(async () => (await stage.mountpointPod(name))?.spec.nodeName, long).toBe(stage.node);

  await stage.phase(app, "Running");
  await expect.poll(() => stage.mountpointPod(name), long).toBeUndefined();
});

it("SE-10 a workload with a gate of its own and our label gets a Mountpoint Pod of the ordinary class", async () => {
  await using stage = await Stage.open(cluster);
  await using classes = await priorityClasses(stage);
  await using _ = await ReconcilerProcess.start(stage, { flags: headroomFlags(classes) });
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim], gates: ["example.com/own"] });
  const labels = { [headroom.workloadLabel]: app.metadata.uid };
  await stage.client.patch(stage.call, kinds.pods, app.metadata, { metadata: { labels } });
  await stage.client.patch(stage.call, kinds.pods, app.metadata, { spec: { schedulingGates: null } });

  const mountpointPod = () => stage.mountpointPod(mountpointPodOf(app, claim));
  await expect.poll(async () => (await mountpointPod())?.metadata.name, long).toBeTruthy();
  expect((await current(stage, app)).metadata.labels).toMatchObject(labels);
  expect((await mountpointPod())?.spec.priorityClassName).not.toBe(classes.preempting);
  expect(await headroomPods(stage)).toEqual([]);
});

it("LC-19 the order is label, headroom Pod, release: the workload is never let go without", async () => {
  await using stage = await Stage.open(cluster);
  await using classes = await priorityClasses(stage);
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim], gates });
  const states: string[] = [];
  const stop = new AbortController();
  const call = { signal: stop.signal, log: stage.call.log };
  const events = await stage.client.watch(call, kinds.pods, {}, { resourceVersion: app.metadata.resourceVersion });
  const reading = (async () => {
    for await (const event of events) {
      if (event.type === "ADDED" || event.type === "MODIFIED") states.push(...stateOf(event.object, app));
    }
  })();
  await using _ = await ReconcilerProcess.start(stage, { flags: headroomFlags(classes) });

  await expect.poll(() => [...new Set(states)], long).toEqual(["marked", "headroom Pod", "released"]);
  stop.abort();
  await reading.catch(() => undefined);
});

it.for<{ end: string; perform: (stage: Stage, app: Pod) => Promise<void> }>([
  { end: "is deleted", perform: (stage, app) => stage.deletePod(app) },
  { end: "fails", perform: (stage, app) => stage.phase(app, "Failed") },
  { end: "is asked to end", perform: (stage, app) => stage.deletePod(app, 30) },
])("LC-19 no headroom Pod is left of a workload that $end before it ran", async ({ perform }) => {
  await using stage = await Stage.open(cluster);
  await using classes = await priorityClasses(stage);
  await using _ = await ReconcilerProcess.start(stage, { flags: headroomFlags(classes) });
  const app = await stage.workload("app", { claims: [await stage.volume()], gates, terminationGracePeriodSeconds: 30 });
  await expect.poll(() => headroomPods(stage), long).toHaveLength(1);
  await perform(stage, app);
  await expect.poll(() => headroomPods(stage), long).toEqual([]);
});

it("LC-19 a gate that someone removes by hand, and a workload that ends while the reconciler is down, leave nothing", async () => {
  await using stage = await Stage.open(cluster);
  await using classes = await priorityClasses(stage);
  const flags = headroomFlags(classes);
  const first = await ReconcilerProcess.start(stage, { flags });
  const app = await stage.workload("app", { claims: [await stage.volume()], gates });
  await expect.poll(() => headroomPods(stage), long).toHaveLength(1);
  await first.kill();
  await stage.deletePod(app);
  const byHand = await stage.workload("by-hand", { claims: [await stage.volume()], gates });
  await stage.client.patch(stage.call, kinds.pods, byHand.metadata, { spec: { schedulingGates: null } });

  await using _ = await ReconcilerProcess.start(stage, { flags });
  await expect.poll(() => headroomPods(stage), long).toEqual([]);
  await expect.poll(async () => Object.values(await stage.served()), long).toEqual([[byHand.metadata.uid]]);
});

it("LC-19 turned off, what was reserved goes; a workload with the gate is told how to go on, and stays", async () => {
  await using stage = await Stage.open(cluster);
  await using classes = await priorityClasses(stage);
  const on = await ReconcilerProcess.start(stage, { flags: headroomFlags(classes) });
  await stage.workload("before", { claims: [await stage.volume()], gates });
  await expect.poll(() => headroomPods(stage), long).toHaveLength(1);
  await on.kill();

  await using _ = await ReconcilerProcess.start(stage);
  await expect.poll(() => headroomPods(stage), long).toEqual([]);
  const app = await stage.workload("after", { claims: [await stage.volume()], gates });
  await expect.poll(() => stage.events(app), long).toMatchObject([{ type: "Warning", reason: "HeadroomOff" }]);
  expect((await stage.events(app))[0]?.message).toContain("Set the chart value mountpointPod.headroom.enabled");
  expect(isGated(await current(stage, app))).toBe(true);
});

it.for<{ what: string; claims: (stage: Stage) => Promise<readonly string[]>; says: string }>([
  {
    what: "a volume that names no bucket",
    claims: async (stage) => [await stage.volume({ attributes: { bucketName: "" } })],
    says: "volumeAttributes.bucketName is required",
  },
  { what: "a claim that is missing", claims: async () => ["missing"], says: "claim missing: it is not bound" },
  {
    what: "a volume of another driver",
    claims: async (stage) => [await stage.volume({ csi: { driver: "other.example.com" } })],
    says: "no volume of this driver",
  },
  { what: "no volume at all", claims: async () => [], says: "no volume of this driver" },
])("LC-19 a workload with $what is let go all the same, and an event says why no room is reserved", async (row) => {
  await using stage = await Stage.open(cluster);
  await using classes = await priorityClasses(stage);
  await using _ = await ReconcilerProcess.start(stage, { flags: headroomFlags(classes) });
  const other = "example.com/held";
  const app = await stage.workload("app", { claims: await row.claims(stage), gates: [...gates, other] });
  const gatesOf = async () => (await current(stage, app)).spec.schedulingGates;
  await expect.poll(gatesOf, long).toEqual([{ name: other }]);
  await expect.poll(() => notReserved(stage, app), long).toMatch(new RegExp(row.says, "i"));
  expect(await headroomPods(stage)).toEqual([]);
});

it("LC-19 a workload whose headroom Pod the quota forbids is let go all the same, and an event says so", async () => {
  await using stage = await Stage.open(cluster);
  await using classes = await priorityClasses(stage);
  await using _ = await ReconcilerProcess.start(stage, { flags: headroomFlags(classes) });
  await cluster.kubectl("create", "quota", "none", "--hard=pods=0", "-n", stage.mountpointNamespace);
  const app = await stage.workload("app", { claims: [await stage.volume()], gates });
  await expect.poll(async () => isGated(await current(stage, app)), long).toBe(false);
  await expect.poll(() => notReserved(stage, app), long).toContain("exceeded quota: none");
});

/** What the event says; it is written in the background. */
async function notReserved(stage: Stage, app: Pod): Promise<string | undefined> {
  return (await stage.events(app)).find(({ reason }) => reason === "HeadroomNotReserved")?.message;
}

async function current(stage: Stage, { metadata }: Pod): Promise<Pod> {
  return (await stage.client.get(stage.call, kinds.pods, metadata)) as Pod;
}

async function headroomPods(stage: Stage): Promise<readonly Pod[]> {
  return (await stage.mountpointPods()).filter(isHeadroomPod);
}

/** Beyond "waits", which it is from the beginning. */
function stateOf(pod: Pod, app: Pod): readonly string[] {
  if (isHeadroomPod(pod) && pod.metadata.labels?.[headroom.podLabel] === app.metadata.uid) return ["headroom Pod"];
  if (pod.metadata.uid !== app.metadata.uid) return [];
  if (!isGated(pod)) return ["released"];
  return pod.metadata.labels?.[headroom.workloadLabel] === undefined ? [] : ["marked"];
}
