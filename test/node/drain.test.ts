/** Workloads that still write after they were told to end: their mount stays until they have. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { openCluster, type PodRef, podManifest, type Sandbox } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { scaled } from "../support/scale.ts";
import { isMarked } from "../support/stage.ts";
import { mountpointPodsOf, objectText, podOf, servedBy } from "../support/traces.ts";

const cluster = openCluster();
/** Others stay elsewhere, the reconciler among them. */
const node = cluster.lab.nodes.at(-1)?.name ?? "worker-1";
const long = { timeout: 240_000, interval: 200 };
const seconds = {
  preStop: scaled("seconds that a preStop hook writes", 8, 60),
  afterSigterm: scaled("seconds of writing after SIGTERM", 6, 30),
};
let sandbox: Sandbox;

beforeAll(async () => {
  sandbox = await cluster.sandbox();
});

afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
});

it(`DS-8 a workload whose preStop writes for ${seconds.preStop} s keeps its Mountpoint Pod, which takes newcomers meanwhile`, async () => {
  const claim = await sandbox.volume({ mountOptions: ["prefix=ds-8/"] });
  // And until the newcomer is there, however long that takes.
  const preStop = lines(`[ $i -lt ${seconds.preStop} ] || [ ! -e /data/newcomer.txt ]`);
  const old = await endingPod("pre-stop", claim, sh(endsOnSigterm("")), sh(preStop));
  await cluster.untilReady(old);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  await using marked = firstVersion({ namespace: "mount-s3", name }, isMarked);
  await using stopped = firstVersion(old, hasStopped);

  await cluster.kubectl("delete", "pod", old.name, "-n", old.namespace, "--wait=false");
  const newcomer = await sandbox.pod("newcomer", { node, claim });
  await cluster.untilReady(newcomer);
  expect(await mountpointPodsOf(cluster, claim)).toEqual([name]);
  // Only then was it a newcomer to a mount that was on its way out.
  expect((await podOf(cluster, old))?.metadata.deletionTimestamp).toBeDefined();
  expect((await servedBy(cluster, claim))[name]).toHaveLength(2);
  await cluster.exec(newcomer, "echo new > /data/newcomer.txt");
  await cluster.deletePod(newcomer);

  await expect.poll(() => podOf(cluster, old), long).toBeUndefined();
  const text = (await objectText(sandbox, "ds-8/last.txt")) ?? "";
  const written = text.split("\n").length - 2;
  expect(written).toBeGreaterThanOrEqual(seconds.preStop);
  expect(text).toBe(expectedLines(written));
  await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
  if (marked.at === undefined || stopped.at === undefined) throw new Error("the end of the Pods was not seen");
  // Versions of all objects come from one counter.
  expect(marked.at > stopped.at).toBe(true);
});

it("LC-18 a Mountpoint Pod that is being deleted ends with its last workload, also when the controller was drained before", async () => {
  const claim = await sandbox.volume({ mountOptions: ["prefix=lc-18/"] });
  const pod = await sandbox.pod("last", { node, claim });
  await cluster.untilReady(pod);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  await using _controller = await controllerAway(cluster);
  await cluster.kubectl("delete", "pod", name, "-n", "mount-s3", "--wait=false");
  await cluster.exec(pod, "echo served > /data/file.txt && cat /data/file.txt");
  await cluster.deletePod(pod);
  // Its grace period is longer.
  await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
  expect(await objectText(sandbox, "lc-18/file.txt")).toBe("served\n");
});

it(`DS-9, LC-18 a node is drained while a workload writes for ${seconds.afterSigterm} s after SIGTERM: its object is complete`, async () => {
  const claim = await sandbox.volume({ mountOptions: ["prefix=ds-9/"] });
  const onTerm = `${lines(`[ $i -lt ${seconds.afterSigterm} ]`)} 2> /data/errors.txt; `;
  const pod = await endingPod("writer", claim, sh(endsOnSigterm(onTerm)));
  await cluster.untilReady(pod);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  expect(await podOf(cluster, { namespace: "mount-s3", name })).toMatchObject({
    metadata: { annotations: { "cluster-autoscaler.kubernetes.io/daemonset-pod": "true" } },
    spec: { nodeSelector: { "kubernetes.io/os": "linux" }, terminationGracePeriodSeconds: 600 },
  });
  await using _schedulable = { [Symbol.asyncDispose]: async () => void (await cluster.kubectl("uncordon", node)) };

  await cluster.kubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=240s");

  expect(await objectText(sandbox, "ds-9/last.txt")).toBe(expectedLines(seconds.afterSigterm));
  expect(await objectText(sandbox, "ds-9/errors.txt")).toBe("");
  expect(await podOf(cluster, pod)).toBeUndefined();
  expect(await podOf(cluster, { namespace: "mount-s3", name })).toBeUndefined();
  await expect.poll(() => mountpointPodsOf(cluster, claim), long).toEqual([]);
});

it("DS-9 a Mountpoint Pod that was evicted serves until its workload ends; newcomers get another", async () => {
  const claim = await sandbox.volume({ mountOptions: ["prefix=evicted/"] });
  const old = await sandbox.pod("old", { node, claim });
  await cluster.untilReady(old);
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  await evict({ namespace: "mount-s3", name });
  expect((await podOf(cluster, { namespace: "mount-s3", name }))?.metadata.deletionTimestamp).toBeDefined();

  const fresh = await sandbox.pod("fresh", { node, claim });
  await cluster.untilReady(fresh);
  await cluster.exec(old, "echo still > /data/old.txt");
  await cluster.exec(fresh, "echo new > /data/fresh.txt");
  expect(await cluster.exec(old, "cat /data/fresh.txt")).toBe("new\n");
  const freshUid = (await podOf(cluster, fresh))?.metadata.uid;
  expect((await servedBy(cluster, claim))[name] ?? []).not.toContain(freshUid);

  await cluster.deletePod(old);
  await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
  expect(await cluster.exec(fresh, "cat /data/old.txt")).toBe("still\n");
  await cluster.deletePod(fresh);
});

const sh = (script: string) => ["sh", "-c", script];

/** As the first process of a container a shell does not end on SIGTERM by itself. */
const endsOnSigterm = (last: string) => `trap '${last}exit 0' TERM; while :; do sleep 1 & wait; done`;

/** One file, one line a second, and one at the end. `cat` keeps a single descriptor from the first line to the last. */
function lines(condition: string): string {
  return `{ i=0; while ${condition}; do echo line $i; sleep 1; i=$((i+1)); done; echo end; } | cat > /data/last.txt`;
}

function expectedLines(count: number): string {
  return [...Array.from({ length: count }, (_, index) => `line ${index}`), "end", ""].join("\n");
}

/** A Pod that is given time to end. */
async function endingPod(
  name: string,
  claim: string,
  command: readonly string[],
  preStop?: readonly string[],
): Promise<PodRef> {
  const ref = { namespace: sandbox.name, name };
  const wish = { node, claim, command, terminationGracePeriodSeconds: 300 };
  const { spec, ...rest } = podManifest(ref, wish) as { spec: { containers: readonly object[] } };
  const lifecycle = preStop && { preStop: { exec: { command: preStop } } };
  const containers = spec.containers.map((container) => ({ ...container, lifecycle }));
  await cluster.apply({ ...rest, spec: { ...spec, containers } });
  return ref;
}

async function evict({ namespace, name }: PodRef): Promise<void> {
  const eviction = { apiVersion: "policy/v1", kind: "Eviction", metadata: { namespace, name } };
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/eviction`;
  const options = { signal: AbortSignal.timeout(60_000), input: JSON.stringify(eviction) };
  await cluster.lab.kubectl(["create", "--raw", path, "-f", "-"], options);
}

function hasStopped({ status }: Pod): boolean {
  return status?.containerStatuses?.every(({ state }) => state?.terminated !== undefined) ?? false;
}

/** Follows a Pod until it is as wanted, and keeps the version in which it was. */
function firstVersion({ namespace, name }: PodRef, wanted: (pod: Pod) => boolean): AsyncDisposable & { at?: bigint } {
  const stop = new AbortController();
  const client = new KubeClient(kubeconfigCredentials(cluster.lab.layout.kubeconfig), { userAgent: "test" });
  const seen: { at?: bigint } = {};
  const read = async () => {
    const call = { signal: stop.signal, log: silentLogger };
    const selection = { namespace, fieldSelector: `metadata.name=${name}` };
    for await (const event of await client.watch(call, kinds.pods, selection, {})) {
      if (event.type === "ERROR") throw new Error(event.object.message);
      if (wanted(event.object)) seen.at ??= BigInt(event.object.metadata.resourceVersion);
    }
  };
  const reading = read().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  return Object.assign(seen, {
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await reading;
      client[Symbol.dispose]();
    },
  });
}
