/** The reconciler against a real API server: from a workload on a node to the Mountpoint Pod that serves it. */
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, expect, it } from "vitest";
import { annotations, labels } from "../../src/core/names.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { openCluster, type VolumeWish } from "../support/cluster.ts";
import { Journal } from "../support/journal.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { scaled } from "../support/scale.ts";
import { installAttachmentKind, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

it("a workload gets its Mountpoint Pod first and then the attachment, with the names of 2.x", async () => {
  await using stage = await Stage.open(cluster);
  await using journal = await Journal.open(stage);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume({ mountOptions: ["allow-delete", "prefix=a/"] });
  const app = await stage.workload("app", { claims: [claim], fsGroup: 1000 });

  await expect.poll(() => journal.story, long).toEqual(["Mountpoint Pod made", "attachment lists 1"]);
  const name = mountpointPodOf(app, claim);
  const [attachment] = await stage.attachments();
  expect(attachment?.metadata.name).toMatch(/^s3pa-/);
  expect(attachment?.spec).toMatchObject({
    nodeName: stage.node,
    persistentVolumeName: claim,
    volumeID: claim,
    mountOptions: "allow-delete,prefix=a/",
    workloadFSGroup: "1000",
  });
  expect(await stage.served()).toEqual({ [name]: [app.metadata.uid] });
  expect((await stage.mountpointPod(name))?.metadata.labels).toMatchObject({
    [labels.podUid]: app.metadata.uid,
    [labels.volumeName]: claim,
  });
  // By the scheduler, which must find the Pod's demands possible.
  await expect.poll(async () => (await stage.mountpointPod(name))?.spec.nodeName, long).toBe(stage.node);
});

it.for([
  { other: "a workload like the first", wish: {}, shares: true },
  { other: "a workload with another fsGroup", wish: { fsGroup: 2000 }, shares: false },
  { other: "a workload on another node", wish: { node: "other" }, shares: false },
])("$other shares its Mountpoint Pod: $shares, whether it comes with it or later", async ({ wish, shares }) => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const first = { claims: [claim], fsGroup: 1000 };
  const other = { ...first, ...wish, ...("node" in wish && { node: stage.otherNode }) };
  const pods = await Promise.all([stage.workload("first", first), stage.workload("other", other)]);
  pods.push(await stage.workload("later", other), await stage.workload("last", first));

  const [a = "", b = "", c = "", d = ""] = pods.map(({ metadata }) => metadata.uid);
  const groups = shares
    ? [[a, b, c, d]]
    : [
        [a, d],
        [b, c],
      ];
  await expect.poll(async () => sorted(Object.values(await stage.served())), long).toEqual(sorted(groups));
  expect(await stage.mountpointPods()).toHaveLength(groups.length);
});

it("a Mountpoint Pod that an operator has closed takes nobody; the next is listed beside it", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const first = await stage.workload("first", { claims: [claim] });
  await expect.poll(() => stage.served(), long).not.toEqual({});
  const closed = { metadata: { annotations: { [annotations.noNewWorkload]: "true" } } };
  const ref = { namespace: stage.mountpointNamespace, name: mountpointPodOf(first, claim) };
  await stage.client.patch(stage.call, kinds.pods, ref, closed);
  const second = await stage.workload("second", { claims: [claim] });

  await expect
    .poll(() => stage.served(), long)
    .toEqual({
      [mountpointPodOf(first, claim)]: [first.metadata.uid],
      [mountpointPodOf(second, claim)]: [second.metadata.uid],
    });
  expect(await stage.attachments()).toHaveLength(1);
});

it("a workload that is held back is served on its node once it is let go", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const held = await stage.workload("held", { claims: [claim], gates: ["example.com/held"] });
  const other = await stage.workload("other", { claims: [await stage.volume()] });
  await expect.poll(async () => Object.values(await stage.served()), long).toEqual([[other.metadata.uid]]);

  await stage.client.patch(stage.call, kinds.pods, held.metadata, { spec: { schedulingGates: null } });

  const served = async () => (await stage.served())[mountpointPodOf(held, claim)];
  await expect.poll(served, long).toEqual([held.metadata.uid]);
  const { spec } = (await stage.client.get(stage.call, kinds.pods, held.metadata)) ?? {};
  const attachments = await stage.attachments();
  const place = attachments.find(({ spec: { persistentVolumeName } }) => persistentVolumeName === claim);
  expect(place?.spec.nodeName).toBe(spec?.nodeName);
});

/** How long the workloads wait before what they lack arrives. This is no wait for something: it is the situation. */
const waitMs = scaled("milliseconds until the claim is bound", 3000, 1_200_000);

it("SC-4 a claim bound late and a volume made late are noticed by event, however long it took", {
  timeout: waitMs + 300_000,
}, async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const unclaimed = await stage.persistentVolume();
  const [withoutClaim, withoutVolume] = [unclaimed, `${stage.name}-later`];
  await stage.claim(withoutVolume);
  const first = await stage.workload("first", { claims: [withoutClaim] });
  const second = await stage.workload("second", { claims: [withoutVolume] });
  await delay(waitMs);
  expect(await stage.mountpointPods()).toEqual([]);

  await stage.claim(withoutClaim);
  await stage.persistentVolume({ name: withoutVolume });
  // kube-controller-manager binds in its own time, when it looks at a claim: so it is nudged, and the clock starts later.
  const nudge = { metadata: { labels: { nudged: "true" } } };
  const ref = { namespace: stage.name, name: withoutVolume };
  await stage.client.patch(stage.call, kinds.persistentVolumeClaims, ref, nudge);
  const bound = async (name: string) => {
    const claim = await stage.client.get(stage.call, kinds.persistentVolumeClaims, { namespace: stage.name, name });
    return claim?.status?.phase;
  };
  await expect.poll(() => Promise.all([bound(withoutClaim), bound(withoutVolume)]), long).toEqual(["Bound", "Bound"]);
  await expect
    .poll(() => stage.served(), long)
    .toEqual({
      [mountpointPodOf(first, withoutClaim)]: [first.metadata.uid],
      [mountpointPodOf(second, withoutVolume)]: [second.metadata.uid],
    });
});

it.for<{ broken: string; make: (stage: Stage) => Promise<string> }>([
  { broken: "missing", make: async () => "missing" },
  { broken: "unbound", make: unbound },
  { broken: "refused (its volume names no bucket)", make: (stage) => stage.volume({ attributes: { bucketName: "" } }) },
  { broken: "of another driver", make: (stage) => stage.volume({ csi: { driver: "other.example.com" } }) },
])("LC-11 a claim that is $broken does not hold up the other volumes of the workload", async ({ make }) => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const good = [await stage.volume(), await stage.volume()];
  const app = await stage.workload("app", { claims: [good[0] ?? "", await make(stage), good[1] ?? ""] });
  const expected = good.map((claim) => [mountpointPodOf(app, claim), [app.metadata.uid]]);
  await expect.poll(() => stage.served(), long).toEqual(Object.fromEntries(expected));
  expect(await stage.mountpointPods()).toHaveLength(2);
});

const refusals: readonly { wrong: string; wish: VolumeWish; field: string; fix: string }[] = [
  { wrong: "no bucket", wish: { attributes: { bucketName: "" } }, field: "bucketName", fix: "name the bucket" },
  {
    wrong: "an amount that is none",
    wish: { attributes: { mountpointContainerResourcesLimitsMemory: "lots" } },
    field: "mountpointContainerResourcesLimitsMemory",
    fix: "write one such as 512Mi",
  },
  { wrong: "an unknown cache", wish: { attributes: { cache: "tape" } }, field: "cache", fix: 'use "emptyDir"' },
  {
    wrong: "an unknown source of keys",
    wish: { attributes: { authenticationSource: "vault" } },
    field: "authenticationSource",
    fix: 'use "driver"',
  },
  {
    wrong: "an option that is none",
    wish: { mountOptions: ["-df"] },
    field: 'mount option "-df"',
    fix: "by its long name",
  },
];

it("volumes that cannot be served are told on workload and claim, each with field and fix, and the good one is served", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const good = await stage.volume();
  const bad: string[] = [];
  for (const { wish } of refusals) bad.push(await stage.volume(wish));
  const app = await stage.workload("app", { claims: [...bad, good] });

  const messages = async () =>
    (await stage.events(app)).map(({ reason, message }) => `${reason}: ${message}`).toSorted();
  const expected = refusals.map(({ field, fix }, index) => {
    const about = field.startsWith("mount option") ? field : `volumeAttributes.${field}`;
    return expect.stringMatching(literally(`VolumeRefused: PersistentVolume ${bad[index]}: ${about}`, fix));
  });
  await expect.poll(messages, long).toEqual(expected);
  for (const [index, claim] of bad.entries()) {
    const told = async () => (await stage.eventsOfClaim(claim)).map(({ reason, message }) => `${reason}: ${message}`);
    await expect.poll(told, long).toEqual([expected[index]]);
  }
  expect(await stage.eventsOfClaim(good)).toEqual([]);
  await expect.poll(() => stage.served(), long).toEqual({ [mountpointPodOf(app, good)]: [app.metadata.uid] });
  expect(await stage.mountpointPods()).toHaveLength(1);
});

it("volumes that are served, but not as they ask to be, are told on the workload, each with field and fix", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const little = await stage.volume({ attributes: { mountpointContainerResourcesLimitsMemory: "256Mi" } });
  const stripped = await stage.volume({ mountOptions: ["endpoint-url http://elsewhere", "allow-delete"] });
  const twins = [
    await stage.volume({ csi: { volumeHandle: stage.name } }),
    await stage.volume({ csi: { volumeHandle: stage.name } }),
  ];
  const withoutSecret = await stage.volume({ attributes: { authenticationSource: "secret" } });
  const app = await stage.workload("app", { claims: [little, stripped, ...twins, withoutSecret] });

  const messages = async () =>
    (await stage.events(app)).map(({ reason, message }) => `${reason}: ${message}`).toSorted();
  await expect
    .poll(messages, long)
    .toEqual([
      expect.stringMatching(
        literally(`DriverCredentialsUsed: PersistentVolume ${withoutSecret} is mounted with`, "Name both"),
      ),
      expect.stringMatching(
        literally(`VolumeHandleShared: PersistentVolume ${twins[0]} has the same`, `as ${twins[1]}`),
      ),
      expect.stringMatching(
        literally(`VolumeHandleShared: PersistentVolume ${twins[1]} has the same`, `as ${twins[0]}`),
      ),
      expect.stringMatching(
        literally(`VolumeQuestionable: PersistentVolume ${little}`, "LimitsMemory to 512Mi or more"),
      ),
      expect.stringMatching(
        literally(`VolumeQuestionable: PersistentVolume ${stripped}: mount option --endpoint-url`, "leave it out"),
      ),
    ]);
  await expect.poll(async () => Object.keys(await stage.served()), long).toHaveLength(5);
});

it("SE-6 credentials for the service account are refused with the fix while they are turned off, and a volume made anew with another Secret gets its own Mountpoint Pod", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const ofPod = await stage.volume({ attributes: { authenticationSource: "pod" } });
  const refused = await stage.workload("refused", { claims: [ofPod] });
  await expect
    .poll(() => stage.events(refused), long)
    .toMatchObject([
      { reason: "VolumeRefused", message: expect.stringMatching(/authenticationSource.*podIdentity\.enabled/) },
    ]);

  const claim = await stage.volume(withSecret("first"));
  const { workload, mountpointPod } = await stage.running("first", claim);
  await stage.removeVolume(claim);
  await stage.volume({ ...withSecret("second"), name: claim });
  const second = await stage.workload("second", { claims: [claim] });

  const own = mountpointPodOf(second, claim);
  await expect
    .poll(() => stage.served(), long)
    .toEqual({ [mountpointPod.metadata.name]: [workload.metadata.uid], [own]: [second.metadata.uid] });
  const identity = (await stage.mountpointPod(own))?.metadata.annotations?.[annotations.identity];
  expect(identity).toBe("secret:keys/second");
  expect(await stage.attachments()).toHaveLength(1);
});

it("LC-18 Mountpoint Pods do not hold up the autoscaler, and run on Linux only", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const { mountpointPod } = await stage.running("app", await stage.volume());
  expect(mountpointPod.metadata.annotations?.["cluster-autoscaler.kubernetes.io/daemonset-pod"]).toBe("true");
  const { nodeSelector } = mountpointPod.spec as { readonly nodeSelector?: object };
  expect(nodeSelector).toEqual({ "kubernetes.io/os": "linux" });
});

it("a Mountpoint Pod that the namespace's quota forbids is told on the workload, and made once there is room", async () => {
  await using stage = await Stage.open(cluster);
  await using _ = await ReconcilerProcess.start(stage);
  const namespace = stage.mountpointNamespace;
  await cluster.kubectl("create", "quota", "none", "--hard=pods=0", "-n", namespace);
  const claim = await stage.volume();
  const app = await stage.workload("app", { claims: [claim] });
  await expect.poll(() => stage.events(app), long).toMatchObject([{ type: "Warning", reason: "MountpointPodRefused" }]);
  expect((await stage.events(app))[0]?.message).toMatch(
    new RegExp(`in namespace ${namespace}: .*exceeded quota: none`),
  );

  await cluster.kubectl("delete", "quota", "none", "-n", namespace);
  await expect.poll(() => stage.served(), long).toEqual({ [mountpointPodOf(app, claim)]: [app.metadata.uid] });
});

function withSecret(name: string): VolumeWish {
  return {
    attributes: { authenticationSource: "secret" },
    csi: { nodePublishSecretRef: { namespace: "keys", name } },
  };
}

/** A text that begins with the one and contains the other later. */
function literally(beginning: string, part: string): RegExp {
  const [first, later] = [beginning, part].map((text) => text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${first}.*${later}`);
}

async function unbound(stage: Stage): Promise<string> {
  const name = `${stage.name}-unbound`;
  await stage.claim(name);
  return name;
}

const inOrder = (texts: readonly string[]) => texts.toSorted((a, b) => a.localeCompare(b));

/** The same groups of workloads in whatever order, as something that can be compared. */
function sorted(groups: readonly (readonly string[])[]): readonly string[] {
  return inOrder(groups.map((uids) => inOrder(uids).join(" ")));
}
