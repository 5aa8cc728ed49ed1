/** Several reconcilers against a real API server: one works, and another takes over. */
import { beforeAll, expect, it } from "vitest";
import { reconcilerLease } from "../../src/core/names.ts";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";
import { type Faults, FaultyWay } from "../support/faulty-way.ts";
import { Journal } from "../support/journal.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { restrictedAccount } from "../support/restricted-account.ts";
import { installAttachmentKind, isMarked, long, Stage } from "../support/stage.ts";

const cluster = openCluster();

beforeAll(() => installAttachmentKind(cluster));

const leads = "leading: the lease is ours";
const works = "reconcile step";

function replica(
  stage: Stage,
  name: string,
  kubeconfig?: string,
  more: readonly string[] = [],
): Promise<ReconcilerProcess> {
  const flags = [`--pod-namespace=${stage.name}`, `--pod-name=${name}`, ...more];
  return ReconcilerProcess.start(stage, { flags, ...(kubeconfig !== undefined && { kubeconfig }) });
}

it("LC-6 when the leader is killed amid its work, the other replica takes over, and no object is there twice", async () => {
  await using stage = await Stage.open(cluster);
  await using leader = await replica(stage, "a");
  await leader.said(leads);
  await using standby = await replica(stage, "b");
  const claims = await Promise.all(Array.from({ length: 8 }, () => stage.volume()));
  const workloads = await workloadsFor(stage, claims, "first");
  await leader.said("createAttachment");
  await leader.kill();
  expect(standby.log).not.toContain(works);
  const latecomers = await workloadsFor(stage, claims, "second");

  await standby.said(leads);

  const uids = [...workloads, ...latecomers].map(({ metadata }) => metadata.uid).toSorted();
  await expect
    .poll(
      async () =>
        Object.values(await stage.served())
          .flat()
          .toSorted(),
      long,
    )
    .toEqual(uids);
  // Those with the same claim share: one attachment and one Mountpoint Pod for each.
  const volumes = (await stage.attachments()).map(({ spec }) => spec.persistentVolumeName);
  expect(volumes.toSorted()).toEqual(claims.toSorted());
  const pods = await stage.mountpointPods();
  expect(pods.map(({ metadata }) => metadata.name).toSorted()).toEqual(Object.keys(await stage.served()).toSorted());
  expect(pods).toHaveLength(claims.length);
  expect(pods.filter(isMarked)).toEqual([]);
  expect(await holder(stage)).toBe("b");
});

it("LC-6 a leader that ends in order hands over: the other need not wait for the lease to run out", async () => {
  await using stage = await Stage.open(cluster);
  await using leader = await replica(stage, "a");
  await leader.said(leads);
  await using standby = await replica(stage, "b");
  const served = await stage.running("first", await stage.volume());
  expect(standby.log).not.toContain(works);

  expect(await leader.stop()).toBe(0);

  // Unreleased, it would be the former leader's for 15 s after its last renewal.
  expect(await holder(stage)).not.toBe("a");
  await standby.said(leads);
  const { metadata } = await stage.workload("second", {
    claims: [served.workload.spec.volumes?.[0]?.persistentVolumeClaim?.claimName ?? ""],
  });
  const both = { [served.mountpointPod.metadata.name]: [served.workload.metadata.uid, metadata.uid] };
  await expect.poll(() => stage.served(), long).toEqual(both);
});

it("SC-7 a standby whose watch over Pods stands still wins the lease: nothing is detached, and it works once it knows what there is", async () => {
  await using stage = await Stage.open(cluster);
  await using journal = await Journal.open(stage);
  await using leader = await replica(stage, "a");
  await leader.said(leads);
  const fair: Faults = { fateOf: () => "passed", latenessMs: () => 0 };
  await using way = await FaultyWay.open(cluster.lab.layout.kubeconfig, fair);
  // From this age of an attachment on, a workload that is in no store is taken for gone.
  await using standby = await replica(stage, "b", way.kubeconfig, ["--stale-threshold-seconds=1"]);
  const claim = await stage.volume();
  way.become({ ...fair, standsStill: (path) => path.startsWith("/api/v1/pods") });
  const { workload, mountpointPod } = await stage.running("app", claim);

  await expect.poll(async () => isOlderThan(await stage.attachments(), 2000), long).toBe(true);
  const before = way.requests.length;

  await leader.stop();
  await standby.said(leads);

  const lists = () => way.requests.slice(before).filter(({ url = "" }) => url.includes("sendInitialEvents"));
  await expect.poll(() => lists().map(({ url = "" }) => url.split("?")[0]), long).toContain("/api/v1/pods");
  way.become(fair);
  const newcomer = await stage.workload("newcomer", { claims: [claim] });
  const uids = [workload.metadata.uid, newcomer.metadata.uid];
  await expect.poll(() => stage.served(), long).toEqual({ [mountpointPod.metadata.name]: uids });
  // The journal has a watch of its own, which may be later than the list above.
  const made = ["Mountpoint Pod made", "attachment lists 1", "attachment lists 2"];
  await expect.poll(() => journal.story, long).toEqual(made);
});

it("a leader that was frozen and goes on writes nothing more, and waits for its next turn", async () => {
  await using stage = await Stage.open(cluster);
  await using former = await replica(stage, "a");
  await former.said(leads);
  await using next = await replica(stage, "b");
  former.freeze();
  await next.said(leads);
  const claim = await stage.volume();
  const { workload } = await stage.running("app", claim);
  const before = former.log;

  former.thaw();

  await former.said("no longer leading");
  await stage.deletePod(workload);
  await expect.poll(() => stage.served(), long).toEqual({});
  expect(former.log.slice(before.length)).not.toContain(works);
  expect(await next.stop()).toBe(0);
  await expect.poll(() => holder(stage), long).toBe("a");
});

it("a reconciler killed and started again in the same Pod leads again", async () => {
  await using stage = await Stage.open(cluster);
  await using first = await replica(stage, "a");
  await first.said(leads);
  await first.kill();
  await using second = await replica(stage, "a");
  await second.said(leads);
  expect(await holder(stage)).toBe("a");
});

it("without any right to leases it works all the same, and says so once", async () => {
  await using stage = await Stage.open(cluster);
  const kubeconfig = await restrictedAccount(stage);
  const flags = [`--pod-namespace=${stage.name}`, "--pod-name=a"];
  await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig, flags });
  await stage.running("app", await stage.volume());
  const lines = reconciler.log.split("\n").filter((line) => !line.includes('"level":"debug"'));
  expect(lines.filter((line) => line.includes("failed to acquire or renew the lease"))).toHaveLength(1);
  expect(lines.filter((line) => line.includes("leading without an election"))).toHaveLength(1);
});

it("SC-7 without any right to leases, replicas that require the lease are neither active nor ready, and name the right", async () => {
  await using stage = await Stage.open(cluster);
  const kubeconfig = await restrictedAccount(stage);
  const required = ["--require-lease", "--health-port=0", "--v=2"];
  await using first = await replica(stage, "a", kubeconfig, required);
  await using second = await replica(stage, "b", kubeconfig, required);
  const { metadata } = await stage.workload("app", { claims: [await stage.volume()] });

  for (const each of [first, second]) {
    await each.said('"missingRight":"get leases.coordination.k8s.io"');
    await expect.poll(() => each.probe("healthz"), long).toBe("503 this account may not use the required lease");
    expect(await each.probe("livez")).toBe("200 ok");
  }
  await cluster.kubectl("create", "role", "election", "-n", stage.name, ...toUseLeases);
  await cluster.kubectl("create", "rolebinding", "election", "-n", stage.name, "--role=election", accountOf(stage));

  await expect.poll(async () => Object.values(await stage.served()), long).toEqual([[metadata.uid]]);
  // Nobody had worked before: one of them works now, and both are ready.
  for (const each of [first, second]) await expect.poll(() => each.probe("healthz"), long).toBe("200 ok");
  expect([first, second].filter(({ log }) => log.includes(works))).toHaveLength(1);
  expect([first, second].filter(({ log }) => log.includes("without an election"))).toEqual([]);
});

const toUseLeases = ["--verb=get,create,patch", "--resource=leases.coordination.k8s.io"];

/** The account of `restrictedAccount`. */
function accountOf(stage: Stage): string {
  return `--serviceaccount=${stage.name}:reconciler`;
}

function isOlderThan(attachments: readonly MountpointS3PodAttachment[], ageMs: number): boolean {
  const times = attachments.flatMap(({ spec }) => Object.values(spec.mountpointS3PodAttachments).flat());
  return times.every(({ attachmentTime }) => Date.parse(attachmentTime) < Date.now() - ageMs);
}

async function workloadsFor(stage: Stage, claims: readonly string[], name: string): Promise<readonly Pod[]> {
  return await Promise.all(claims.map((claim, index) => stage.workload(`${name}-${index}`, { claims: [claim] })));
}

async function holder(stage: Stage): Promise<string | undefined> {
  const lease = await stage.client.get(stage.call, kinds.leases, { namespace: stage.name, name: reconcilerLease });
  return lease?.spec?.holderIdentity ?? undefined;
}
