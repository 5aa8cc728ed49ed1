/** Annotations of a PersistentVolume that change its Mountpoint Pods, on a real API server. */
import { beforeAll, expect, it } from "vitest";
import { annotations, livePrefix } from "../../src/core/names.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

const limit = "mountpointContainerResourcesLimitsMemory";

it("LC-21 a Mountpoint Pod is created with the live options of that time, and workloads share it until a move is requested", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume({ mountOptions: ["metadata-ttl=1"], attributes: { [limit]: "1Gi" } });
  await annotate(stage, claim, { mountOptions: "metadata-ttl 60", cache: "emptyDir", cacheEmptyDirSizeLimit: "1Gi" });
  const { mountpointPod: former } = await stage.running("app", claim);
  expect(liveOf(former)).toEqual({
    mountOptions: "--cache=/cache,--max-cache-size=972,--metadata-ttl=60",
    cache: "emptyDir",
    cacheEmptyDirSizeLimit: "1Gi",
  });
  expect(former.spec).toMatchObject({
    containers: [{ resources: { limits: { memory: "1Gi" } } }],
    volumes: expect.arrayContaining([{ name: "cache", emptyDir: { sizeLimit: "1Gi" } }]),
  });

  await annotate(stage, claim, {
    mountOptions: "metadata-ttl 90",
    cache: null,
    cacheEmptyDirSizeLimit: null,
    [limit]: "2Gi",
  });
  const later = await stage.workload("later", { claims: [claim] });
  const served = async () => Object.values(await stage.served()).flat();
  await expect.poll(served, long).toContain(later.metadata.uid);
  expect(Object.keys(await stage.served())).toEqual([former.metadata.name]);
  expect((await stage.attachments()).map(({ spec }) => spec.mountOptions)).toEqual(["metadata-ttl=1"]);

  await patchVolume(stage, claim, { [annotations.move]: "1" });
  const successor = async () =>
    (await stage.mountpointPods()).find(({ metadata }) => metadata.uid !== former.metadata.uid);
  await expect.poll(successor, long).toBeDefined();
  const made = (await successor()) as Pod;
  expect(liveOf(made)).toEqual({ mountOptions: "--metadata-ttl=90", [limit]: "2Gi" });
  expect(made.spec).toMatchObject({
    containers: [{ resources: { limits: { memory: "2Gi" } } }],
  });
  expect((await stage.attachments()).map(({ spec }) => spec.mountOptions)).toEqual(["metadata-ttl=1"]);
});

it("LC-24 what may not change live is told on Pods and claim, with annotation, option and fix, and nothing changes", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("app", claim);
  await annotate(stage, claim, { mountOptions: "metadata-ttl 60, prefix other/", region: "eu", [limit]: "lots" });
  const refused = [
    `${livePrefix}${limit} is ignored: ${limit} "lots" is not an amount. In the PersistentVolume: write one such as 512Mi or 2Gi.`,
    `${livePrefix}mountOptions is ignored: option --prefix cannot change for a running mount, because it decides what a path leads to. In the annotation: remove the option.`,
    `${livePrefix}region is ignored: it cannot change for a running mount. Remove it.`,
  ]
    .map((text) => `LiveOptionsRefused: PersistentVolume ${claim}: the annotation ${text}`)
    .toSorted();
  const eventsOf = async (pod: Pod) =>
    (await stage.events(pod)).map(({ reason, message }) => `${reason}: ${message}`).toSorted();
  await expect.poll(() => eventsOf(workload), long).toEqual(refused);
  const ofClaim = async () => (await stage.eventsOfClaim(claim)).map(({ reason, message }) => `${reason}: ${message}`);
  await expect.poll(async () => (await ofClaim()).toSorted(), long).toEqual(refused);

  await patchVolume(stage, claim, { [annotations.move]: "1" });
  await expect
    .poll(async () => (await eventsOf(workload)).join("\n"), long)
    .toMatch(/VolumeNotMoved: .*works as before/);
  // New workloads are served: another fsGroup needs another Mountpoint Pod, which gets nothing of this.
  const other = await stage.workload("other", { claims: [claim], fsGroup: 2000 });
  const name = mountpointPodOf(other, claim);
  await expect.poll(() => stage.served(), long).toHaveProperty(name);
  expect(liveOf((await stage.mountpointPod(name)) as Pod)).toEqual({});
  const pods = (await stage.mountpointPods()).map(({ metadata }) => metadata.name);
  expect(pods.toSorted()).toEqual([mountpointPod.metadata.name, name].toSorted());
});

it("only the PersistentVolume itself has live options: not its claim, a workload, or an attribute", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const live = `${livePrefix}mountOptions`;
  // Parameters of a StorageClass become attributes.
  const claim = await stage.volume({ attributes: { [live]: "debug" } });
  await stage.patch(`/api/v1/namespaces/${stage.name}/persistentvolumeclaims/${claim}`, {
    metadata: { annotations: { [live]: "debug" } },
  });
  const gate = "example.com/held-back";
  const held = await stage.workload("app", { claims: [claim], gates: [gate] });
  await stage.patch(`/api/v1/namespaces/${stage.name}/pods/app`, {
    metadata: { annotations: { [live]: "debug" } },
    spec: { schedulingGates: [] },
  });
  const name = mountpointPodOf(held, claim);
  await expect.poll(() => stage.served(), long).toHaveProperty(name);
  expect(liveOf((await stage.mountpointPod(name)) as Pod)).toEqual({});
});

/** null takes an annotation away. */
async function annotate(stage: Stage, claim: string, live: Readonly<Record<string, string | null>>): Promise<void> {
  const named = Object.entries(live).map(([name, value]) => [`${livePrefix}${name}`, value]);
  await patchVolume(stage, claim, Object.fromEntries(named));
}

async function patchVolume(stage: Stage, name: string, set: object): Promise<void> {
  await stage.patch(`/api/v1/persistentvolumes/${name}`, { metadata: { annotations: set } });
}

function liveOf({ metadata }: Pick<Pod, "metadata">): Readonly<Record<string, string>> {
  const live = Object.entries(metadata.annotations ?? {}).filter(([name]) => name.startsWith(livePrefix));
  return Object.fromEntries(live.map(([name, value]) => [name.slice(livePrefix.length), value]));
}
