/**
 * How long a Pod with an S3 volume takes from creation to Running, beside a Pod without a volume, in turns in one run.
 * "First" is the first Pod of a volume on a node, which needs a Mountpoint Pod; "sharing" joins it.
 */

import { KubeClient } from "../../src/kube/client.ts";
import { kubeconfigCredentials } from "../../src/kube/credentials.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { keyOf, Store } from "../../src/kube/store.ts";
import { watch } from "../../src/kube/watch.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { openCluster, type PodRef, type PodWish, podManifest, type Sandbox } from "../../test/support/cluster.ts";
import { percentile, table } from "../table.ts";

const rounds = Number(process.argv[2] ?? 10);
const cluster = openCluster();
const stop = new AbortController();
const call = { signal: stop.signal, log: silentLogger };
using client = new KubeClient(kubeconfigCredentials(cluster.lab.layout.kubeconfig), { userAgent: "bench" });
await using sandbox = await cluster.sandbox();
const pods = new Store<Pod>({});
const watching = watch(call, client, { kind: kinds.pods, namespace: sandbox.name, trim: (pod: Pod) => pod }, pods);

const node = cluster.lab.nodes[0]?.name ?? "worker-1";
const plain: number[] = [];
const first: number[] = [];
const sharing: number[] = [];
await timed(sandbox, "warm-up", { node, claim: await sandbox.volume() });
for (let round = 0; round < rounds; round += 1) {
  plain.push(await timed(sandbox, `plain-${round}`, { node }));
  const claim = await sandbox.volume();
  first.push(await timed(sandbox, `first-${round}`, { node, claim }));
  sharing.push(await timed(sandbox, `sharing-${round}`, { node, claim }));
  // A node takes 110 Pods.
  for (const name of ["plain", "first", "sharing"]) {
    await cluster.deletePod({ namespace: sandbox.name, name: `${name}-${round}` });
  }
}
stop.abort();
await watching.catch(() => undefined);

const row = (name: string, times: readonly number[]) => ({
  pod: name,
  "median ms": percentile(times, 50),
  "p95 ms": percentile(times, 95),
  "added median ms": percentile(times, 50) - percentile(plain, 50),
  "added p95 ms": percentile(times, 95) - percentile(plain, 95),
});
process.stdout.write(`${rounds} rounds on ${node}, creation to Running as a watch sees it\n`);
process.stdout.write(table([row("without volume", plain), row("first with S3", first), row("sharing", sharing)]));

async function timed(where: Sandbox, name: string, wish: PodWish): Promise<number> {
  const ref: PodRef = { namespace: where.name, name };
  const started = performance.now();
  await client.create(call, kinds.pods, podManifest(ref, wish) as { metadata: PodRef });
  await pods.waitFor(call, { key: keyOf(ref) }, ([pod]) => (pod?.status?.phase === "Running" ? true : undefined));
  return performance.now() - started;
}
