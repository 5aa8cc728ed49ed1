/** Mountpoint Pods that wait for a volume, with a real API server, scheduler and garbage collector; the nodes exist on paper. */
import { beforeAll, expect, it } from "vitest";
import { attachmentName, newAttachment } from "../../src/core/attachment.ts";
import {
  annotations,
  labels,
  type NodeName,
  type PodName,
  type PodUid,
  type PvName,
  type VolumeId,
} from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { removeMounts } from "../../src/setup/remove-mounts.ts";
import { openCluster } from "../support/cluster.ts";
import { installAttachmentKind, isMarked, long, mountpointPodOf, Stage } from "../support/stage.ts";
import {
  nodePlugin,
  prepareWarm,
  removeOwner,
  reportNode,
  startWithWarm,
  untilWarm,
  waitingPods,
} from "../support/warm.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

const current = (stage: Stage, { metadata }: Pod) => stage.mountpointPod(metadata.name);
const nameOf = ({ metadata }: Pod) => metadata.name;
const settingsOf = ({ metadata }: Pod) => metadata.annotations?.[annotations.warmSettings];

it("WM-1 a workload gets the Mountpoint Pod that waits on its node, which is named after its volume, replaced after the start, and ends with it", async () => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  await using _ = await startWithWarm(stage);
  const warm = await untilWarm(stage);
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim] });
  await expect.poll(() => stage.served(), long).toEqual({ [nameOf(warm)]: [app.metadata.uid] });

  const named = { [labels.warm]: "assigned", [labels.podUid]: app.metadata.uid, [labels.volumeName]: claim };
  await expect.poll(async () => (await current(stage, warm))?.metadata.labels, long).toMatchObject(named);
  const { metadata } = (await current(stage, warm)) as Pod & { metadata: { ownerReferences?: unknown } };
  expect(metadata.annotations).toMatchObject({
    [annotations.volumeName]: claim,
    [annotations.volumeId]: claim,
    [annotations.identity]: "driver",
    [annotations.claim]: `${stage.name}/${claim}`,
  });
  expect(metadata.ownerReferences).toBeUndefined();
  // The next one waits until the workload runs.
  expect((await stage.mountpointPods()).map(nameOf)).toEqual([nameOf(warm)]);
  await stage.phase(app, "Running");
  const next = await untilWarm(stage);
  expect(nameOf(next)).not.toBe(nameOf(warm));

  // Another workload of the volume shares it.
  const second = await stage.workload("second", { claims: [claim] });
  await expect.poll(() => stage.served(), long).toEqual({ [nameOf(warm)]: [app.metadata.uid, second.metadata.uid] });
  for (const each of [app, second]) await stage.deletePod(each);
  const remaining = async () => {
    await stage.playKubelet();
    return (await stage.mountpointPods()).map(nameOf);
  };
  await expect.poll(remaining, long).toEqual([nameOf(next)]);
  expect(await stage.attachments()).toEqual([]);
});

it("WM-1 the next leader names one that a leader has assigned before it died, and gives it to no other volume", async () => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  const [first, second] = [await stage.volume(), await stage.volume()];
  let warm: Pod;
  {
    await using reconciler = await startWithWarm(stage);
    warm = await untilWarm(stage);
    await reconciler.kill();
  }
  const [app, other] = [
    await stage.workload("app", { claims: [first] }),
    await stage.workload("other", { claims: [second] }),
  ];
  const key = {
    ...{ node: stage.node as NodeName, persistentVolume: first as PvName, volumeId: first as VolumeId },
    ...{ mountOptions: "", fsGroup: "" },
  };
  const made = { driverVersion: "dead", authenticationSource: "driver" };
  const assignment = { mountpointPod: nameOf(warm) as PodName, workload: app.metadata.uid as PodUid, at: new Date() };
  await stage.client.create(stage.call, kinds.attachments, newAttachment(key, made, assignment));
  expect(attachmentName(key)).toMatch(/^s3pa-/);

  await using _ = await startWithWarm(stage);
  const own = mountpointPodOf(other, second);
  await expect
    .poll(() => stage.served(), long)
    .toEqual({ [nameOf(warm)]: [app.metadata.uid], [own]: [other.metadata.uid] });
  const labelled = async () => (await current(stage, warm))?.metadata.labels?.[labels.volumeName];
  await expect.poll(labelled, long).toBe(first);
});

it("WM-1 two volumes that come at the same time never get the same one", async () => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  await using _ = await startWithWarm(stage);
  const warm = await untilWarm(stage);
  const claims = await Promise.all(Array.from({ length: 6 }, () => stage.volume()));
  const apps = await Promise.all(claims.map((claim, at) => stage.workload(`app-${at}`, { claims: [claim] })));
  const lists = async () => Object.entries(await stage.served());
  await expect.poll(async () => (await lists()).length, long).toBe(apps.length);
  expect((await lists()).map(([, served]) => served.length)).toEqual(apps.map(() => 1));
  expect((await lists()).filter(([name]) => name === nameOf(warm))).toHaveLength(1);
});

it.for<[string, Parameters<Stage["volume"]>[0]]>([
  ["resources", { attributes: { mountpointContainerResourcesRequestsMemory: "64Mi" } }],
  ["a cache", { attributes: { cache: "emptyDir", cacheEmptyDirSizeLimit: "1Gi" } }],
  ["a cache by mount option", { mountOptions: ["cache /tmp"] }],
  ["an account", { attributes: { mountpointPodServiceAccountName: "default" } }],
  ["environment", { attributes: { "mountpointEnv.HTTPS_PROXY": "http://proxy.example.com" } }],
  ["a read-only PersistentVolume", { csi: { readOnly: true } }],
])("WM-2 a volume with %s of its own gets its own Mountpoint Pod, and the one that waits stays", async ([, wish]) => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  await using _ = await startWithWarm(stage);
  const warm = await untilWarm(stage);
  const claim = await stage.volume(wish);
  const app = await stage.workload("app", { claims: [claim] });
  await expect.poll(() => stage.served(), long).toEqual({ [mountpointPodOf(app, claim)]: [app.metadata.uid] });
  expect((await waitingPods(stage)).map(nameOf)).toEqual([nameOf(warm)]);
});

it("WM-1 those that wait end with their owner, as in an uninstallation or a rollback, none is created, and one in use stays", async () => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  await using reconciler = await startWithWarm(stage);
  const used = await untilWarm(stage);
  const app = await stage.workload("app", { claims: [await stage.volume()] });
  await expect.poll(async () => (await current(stage, used))?.metadata.labels?.[labels.warm], long).toBe("assigned");
  await stage.phase(app, "Running");
  await untilWarm(stage);

  await removeOwner(stage);
  const left = async () => {
    await stage.playKubelet();
    return (await stage.mountpointPods()).map(nameOf);
  };
  await expect.poll(left, long).toEqual([nameOf(used)]);
  await expect.poll(() => reconciler.log, long).toContain("there is no ConfigMap");
  expect(await left()).toEqual([nameOf(used)]);
  expect((await current(stage, used))?.metadata.deletionTimestamp).toBeUndefined();
});

it("WM-1 the hook of an uninstallation leaves none behind while the reconciler runs", async () => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  await using reconciler = await startWithWarm(stage);
  await untilWarm(stage);
  const stop = new AbortController();
  const kubelet = (async () => {
    while (!stop.signal.aborted) await stage.playKubelet();
  })();
  const { mountpointNamespace } = stage;
  await removeMounts(stage.call, stage.client, {
    ...{ mountpointNamespace, warmOwner: "warm-owner", limitMs: 60_000, everyMs: 50 },
  });
  stop.abort();
  await kubelet;
  expect(await stage.mountpointPods()).toEqual([]);
  // It has tried to replace what the hook has ended.
  await expect.poll(() => reconciler.log, long).toContain("there is no ConfigMap");
  expect(await stage.mountpointPods()).toEqual([]);
});

it.for<[string, (stage: Stage) => Promise<void>]>([
  ["is cordoned", (stage) => stage.patch(`/api/v1/nodes/${stage.node}`, { spec: { unschedulable: true } })],
  ["is under pressure", (stage) => reportNode(stage, { type: "MemoryPressure", status: "True" })],
])("WM-1 those that wait are given up when their node %s", async ([, change]) => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  await using _ = await startWithWarm(stage);
  await untilWarm(stage);
  const left = async () => {
    await change(stage);
    await stage.playKubelet();
    return await stage.mountpointPods();
  };
  await expect.poll(left, long).toEqual([]);
});

it("WM-1 fewer wait when fewer are to, none where no node plugin runs, and a tenant's Pod is no node plugin", async () => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  // Everybody can give a Pod of theirs this label.
  await nodePlugin(stage, stage.mountpointNamespace, stage.otherNode);
  const left = async () => {
    await reportNode(stage);
    await stage.playKubelet();
    return await waitingPods(stage);
  };
  {
    await using _ = await startWithWarm(stage, 2);
    await expect.poll(async () => (await left()).length, long).toBe(2);
    expect((await left()).some(({ spec }) => spec.nodeName === stage.otherNode)).toBe(false);
  }
  await using _ = await startWithWarm(stage, 0);
  await expect.poll(left, long).toEqual([]);
});

it("WM-1 those that wait are replaced when the certificate authority of the store is", async () => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  const metadata = { name: "ca", namespace: stage.mountpointNamespace };
  const data = { "ca-bundle.crt": "old" };
  await stage.client.create(stage.call, kinds.configMaps, { metadata, data } as { metadata: typeof metadata });
  await using _ = await startWithWarm(stage, 1, ["--tls-ca-cert-configmap=ca"]);
  const old = await untilWarm(stage);
  await stage.client.patch(stage.call, kinds.configMaps, metadata, { data: { "ca-bundle.crt": "new" } });
  const next = await untilWarm(stage, nameOf(old));
  await stage.playKubelet();
  expect(await current(stage, old)).toBeUndefined();
  expect(settingsOf(next)).not.toBe(settingsOf(old));
});

it("WM-1 one that waits is no orphan: the stale cleanup leaves it alone", async () => {
  await using stage = await Stage.open(cluster);
  await prepareWarm(stage);
  const flags = ["--cleanup-interval-seconds=1", "--stale-threshold-seconds=0"];
  await using reconciler = await startWithWarm(stage, 1, flags);
  const warm = await untilWarm(stage);
  const cleanups = () => reconciler.log.split("stale cleanup queued").length;
  const before = cleanups();
  await expect.poll(cleanups, long).toBeGreaterThan(before + 2);
  expect(isMarked((await current(stage, warm)) as Pod)).toBe(false);
  expect((await waitingPods(stage)).map(nameOf)).toEqual([nameOf(warm)]);
});
