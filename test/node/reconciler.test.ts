/** The Pod Reconciler beside a real kubelet: who shares, what becomes of Mountpoint Pods that are taken away, and its own absence. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { signalProcess } from "../../lab/process-id.ts";
import { openCluster, type PodRef, type Sandbox } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { reconcilerContainer as container, reconcilerPod, reconcilerProcess } from "../support/installed-reconciler.ts";
import { mountpointPodsOf, mountsNaming, objectText, podOf, servedBy } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
const deployment = ["deployment/s3-csi-controller", "-n", "kube-system"] as const;
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it("workloads share a Mountpoint Pod, unless fsGroup or mount options differ", async () => {
  const claim = await volume("share");
  const same = [await started("same-1", claim), await started("same-2", claim)];
  const group = await started("group", claim, { fsGroup: 2000 });
  const options = JSON.stringify({ spec: { mountOptions: ["prefix=share/", "allow-delete"] } });
  await cluster.kubectl("patch", "pv", claim, "--type=merge", "-p", options);
  const edited = await started("edited", claim);

  const lists = Object.values(await servedBy(cluster, claim)).map((uids) => uids.toSorted());
  const expected = [await uidsOf(same), await uidsOf([group]), await uidsOf([edited])];
  expect(lists).toHaveLength(3);
  expect(lists).toEqual(expect.arrayContaining(expected));
  await cluster.exec(same[0] as PodRef, "echo one > /data/a.txt");
  for (const pod of [group, edited]) expect(await cluster.exec(pod, "cat /data/a.txt")).toBe("one\n");
  // Whoever came before the edit keeps the options it had.
  expect(await cluster.exec(same[1] as PodRef, "rm -f /data/a.txt 2>&1; true")).toContain("not permitted");
  await cluster.exec(edited, "rm /data/a.txt");
  await end([...same, group, edited], claim);
});

it("a Mountpoint Pod deleted by force is replaced by one that serves newcomers, and all of it ends", async () => {
  const claim = await volume("forced");
  const old = await started("old", claim);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  await cluster.kubectl("delete", "pod", name, "-n", "mount-s3", "--grace-period=0", "--force");

  const fresh = await started("fresh", claim);
  await cluster.exec(fresh, "echo new > /data/a.txt");
  expect(await objectText(sandbox, "forced/a.txt")).toBe("new\n");
  const served = await servedBy(cluster, claim);
  expect(Object.keys(served)).not.toContain(name);
  expect(Object.values(served).flat().toSorted()).toEqual(await uidsOf([old, fresh]));
  await end([old, fresh], claim);
  await expect.poll(() => mountsNaming(cluster, node, name), long).toBe("");
});

it("while no reconciler runs, mounts work on; when it is back, who came is served and who left is cleaned up", async () => {
  const [stays, leaves, comes] = [await volume("stays"), await volume("leaves"), await volume("comes")];
  const staying = await started("staying", stays);
  const leaving = await started("leaving", leaves);
  const [left = ""] = await mountpointPodsOf(cluster, leaves);
  let coming: PodRef;
  {
    await using _back = await controllerAway(cluster);
    await cluster.deletePod(leaving);
    coming = await sandbox.pod("coming", { node, claim: comes });
    await cluster.exec(staying, "echo alone > /data/a.txt");
    expect(await podOf(cluster, { namespace: "mount-s3", name: left })).toBeDefined();
  }
  await cluster.untilReady(coming);
  await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name: left }), long).toBeUndefined();
  expect(await mountpointPodsOf(cluster, leaves)).toEqual([]);
  expect(await cluster.exec(staying, "cat /data/a.txt")).toBe("alone\n");
  await Promise.all([end([staying], stays), end([coming], comes)]);
});

it("OP-2 a reconciler that is frozen is restarted by kubelet, and works on", async () => {
  await using _impatient = await impatientLiveness();
  const pod = await reconcilerPod(cluster);
  const before = (await restartsOf(pod)) ?? 0;
  signalProcess(await reconcilerProcess(cluster), "SIGSTOP");
  await expect.poll(() => restartsOf(pod), long).toBeGreaterThan(before);
  const claim = await volume("frozen");
  await end([await started("after-frozen", claim)], claim);
});

function volume(what: string): Promise<string> {
  return sandbox.volume({ name: `${sandbox.name}-${what}`, mountOptions: [`prefix=${what}/`] });
}

async function started(name: string, claim: string, securityContext: object = {}): Promise<PodRef> {
  const pod = await sandbox.pod(name, { node, claim, securityContext });
  await cluster.untilReady(pod);
  return pod;
}

/** Nothing of the volume is left in the cluster or on the node. */
async function end(pods: readonly PodRef[], claim: string): Promise<void> {
  const names = await mountpointPodsOf(cluster, claim);
  await Promise.all(pods.map((pod) => cluster.deletePod(pod)));
  for (const name of names) {
    await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
    await expect.poll(() => mountsNaming(cluster, node, name), long).toBe("");
  }
  await expect.poll(() => mountpointPodsOf(cluster, claim), long).toEqual([]);
  expect(await mountsNaming(cluster, node, `/${claim}/mount `)).toBe("");
}

async function uidsOf(pods: readonly PodRef[]): Promise<readonly string[]> {
  const uids = await Promise.all(pods.map(async (pod) => (await podOf(cluster, pod))?.metadata.uid ?? ""));
  return uids.toSorted();
}

async function restartsOf(pod: PodRef): Promise<number | undefined> {
  const statuses = (await podOf(cluster, pod))?.status?.containerStatuses ?? [];
  return statuses.find(({ name }) => name === container)?.restartCount;
}

/** The same probe, asked more often: that of the chart takes a minute and a half to be sure. */
async function impatientLiveness(): Promise<AsyncDisposable> {
  const probe = { periodSeconds: 2, terminationGracePeriodSeconds: 1 };
  await cluster.kubectl("patch", ...deployment, "-p", livenessPatch(probe));
  await rolledOut();
  return {
    [Symbol.asyncDispose]: async () => {
      const chart = { periodSeconds: 10, terminationGracePeriodSeconds: null };
      await cluster.kubectl("patch", ...deployment, "-p", livenessPatch(chart));
      await disownPatches();
      await rolledOut();
    },
  };
}

/**
 * A field that a patch has set belongs to kubectl from then on, also with its former value: a chart without the probe would
 * take all of the probe away but that field, and the API server would refuse what is left.
 */
async function disownPatches(): Promise<void> {
  const object = await cluster.get<{ metadata: { managedFields: readonly { manager: string }[] } }>(
    ...deployment,
    "--show-managed-fields",
  );
  const managedFields = object?.metadata.managedFields.filter(({ manager }) => manager !== "kubectl-patch");
  const patch = JSON.stringify({ metadata: { managedFields } });
  await cluster.kubectl("patch", ...deployment, "--type=merge", "-p", patch);
}

function livenessPatch(livenessProbe: object): string {
  return JSON.stringify({ spec: { template: { spec: { containers: [{ name: container, livenessProbe }] } } } });
}

async function rolledOut(): Promise<void> {
  await cluster.kubectl("rollout", "status", ...deployment, "--timeout=240s");
}
