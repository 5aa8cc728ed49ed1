/**
 * How long a Pod with an S3 volume takes from creation to Running, beside a Pod without a volume, in turns in one run.
 * "First" is the first Pod of a volume on a node, which needs a Mountpoint Pod; "sharing" joins it; "warm" is a first Pod that gets a
 * Mountpoint Pod which waits. Installs the driver with one that waits on each node, and as it was at the end.
 */

import { openCluster, type PodRef, type PodWish, podManifest, type Sandbox } from "../../test/support/cluster.ts";
import { installedWith } from "../../test/support/installed-with.ts";
import { untilWarmOn, workingSetOf } from "../../test/support/warm-node.ts";
import { percentile, table } from "../table.ts";
import { WatchedPods } from "../watched-pods.ts";

const rounds = Number(process.argv[2] ?? 10);
const cluster = openCluster();
await using sandbox = await cluster.sandbox();
await using _installed = await installedWith(cluster, ["mountpointPod.warm.perNode=1"]);
await using pods = new WatchedPods(cluster);

const node = cluster.lab.nodes[0]?.name ?? "worker-1";
const plain: number[] = [];
const first: number[] = [];
const sharing: number[] = [];
const warm: number[] = [];
const waitingBytes: number[] = [];
/** A setting of its own keeps a volume from a Mountpoint Pod that waits. */
const cold = { attributes: { mountpointContainerResourcesRequestsCpu: "11m" } };
await timed(sandbox, "warm-up", { node, claim: await sandbox.volume() });
for (let round = 0; round < rounds; round += 1) {
  plain.push(await timed(sandbox, `plain-${round}`, { node }));
  const waiting = await untilWarmOn(cluster, node);
  waitingBytes.push(await workingSetOf(cluster, node, waiting));
  warm.push(await timed(sandbox, `warm-${round}`, { node, claim: await sandbox.volume() }));
  const claim = await sandbox.volume(cold);
  first.push(await timed(sandbox, `first-${round}`, { node, claim }));
  sharing.push(await timed(sandbox, `sharing-${round}`, { node, claim }));
  // A node takes 110 Pods.
  for (const name of ["plain", "warm", "first", "sharing"]) {
    await cluster.deletePod({ namespace: sandbox.name, name: `${name}-${round}` });
  }
}

const row = (name: string, times: readonly number[]) => ({
  pod: name,
  "median ms": percentile(times, 50),
  "p95 ms": percentile(times, 95),
  "added median ms": percentile(times, 50) - percentile(plain, 50),
  "added p95 ms": percentile(times, 95) - percentile(plain, 95),
});
process.stdout.write(`${rounds} rounds on ${node}, creation to Running as a watch sees it\n`);
process.stdout.write(
  table([
    row("without volume", plain),
    row("first with S3", first),
    row("sharing", sharing),
    row("first with S3, warm", warm),
  ]),
);
process.stdout.write(
  `a waiting Mountpoint Pod: ${Math.round(percentile(waitingBytes, 50) / 1000)} kB (working set, median)\n`,
);

async function timed(where: Sandbox, name: string, wish: PodWish): Promise<number> {
  const ref: PodRef = { namespace: where.name, name };
  const started = performance.now();
  await pods.create(podManifest(ref, wish));
  return (await pods.until(ref, (pod) => pod?.status?.phase === "Running")) - started;
}
