/**
 * How long a volume is away after its mount-s3 was killed: from the kill to the first good read in every Pod that uses it.
 * Each death is the first of its Mountpoint Pod, so that kubelet starts the container again without a back-off.
 * Arguments: deaths, Pods that share a mount in the second row.
 */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef, podManifest, type Sandbox } from "../../test/support/cluster.ts";
import { mountS3Of, onNode } from "../../test/support/mount-s3-process.ts";
import { percentile, table } from "../table.ts";

const deaths = Number(process.argv[2] ?? 50);
const sharers = Number(process.argv[3] ?? 20);
/** So many volumes has a Pod at once. */
const batch = 10;
const cluster = openCluster();
const node = cluster.lab.nodes[0]?.name ?? "worker-1";

const rows = [];
for (const pods of [1, sharers]) {
  const times: number[] = [];
  while (times.length < deaths) times.push(...(await batchOf(pods, Math.min(batch, deaths - times.length))));
  rows.push({ "Pods on the mount": pods, "median ms": percentile(times, 50), "p95 ms": percentile(times, 95) });
}
process.stdout.write(`${deaths} first deaths on ${node}, kill to first good read in all Pods\n${table(rows)}`);

async function batchOf(pods: number, volumes: number): Promise<readonly number[]> {
  await using sandbox = await cluster.sandbox();
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "file", Body: "content\n" }));
  const claims: string[] = [];
  for (let made = 0; made < volumes; made += 1) claims.push(await sandbox.volume());
  const users = Array.from({ length: pods }, (_, index) => ({ namespace: sandbox.name, name: `user-${index}` }));
  await cluster.apply(...users.map((user) => manifestOf(user, claims)));
  for (const user of users) await cluster.untilReady(user);
  const pids = await containersOf(sandbox);
  const times: number[] = [];
  for (const claim of claims) times.push(await awayMs(claim, pids));
  return times;
}

function manifestOf(ref: PodRef, claims: readonly string[]): object {
  const { spec, ...rest } = podManifest(ref, { node }) as { readonly spec: { readonly containers: readonly object[] } };
  const volumeMounts = claims.map((name) => ({ name, mountPath: `/data/${name}` }));
  const volumes = claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return { ...rest, spec: { ...spec, containers: [{ ...spec.containers[0], volumeMounts }], volumes } };
}

/** A process in each, as the node sees it: reading through the API server would be measured, too. */
async function containersOf({ name }: Sandbox): Promise<readonly string[]> {
  const pods = await cluster.list<Pod>("pods", "-n", name);
  const script = [
    'for p in $(grep -ls "$1" /proc/[0-9]*/cgroup | cut -d/ -f3); do',
    '  [ "$(cat /proc/$p/comm)" = sleep ] && echo $p',
    "done; true",
  ].join("\n");
  const found = await Promise.all(
    pods.map(({ metadata }) => onNode(cluster, node, "sh", "-c", script, "containers", metadata.uid)),
  );
  return found.map((text) => text.trim());
}

async function awayMs(claim: string, pids: readonly string[]): Promise<number> {
  const { pid } = await mountS3Of(cluster, node, claim);
  const script = [
    "file=$1; server=$2; shift 2; began=$(date +%s%N); kill -KILL $server",
    "while kill -0 $server 2> /dev/null; do :; done",
    'for p; do until nsenter -t $p -m -- cat "$file" > /dev/null 2>&1; do sleep 0.01; done; done',
    "echo $((($(date +%s%N) - began) / 1000000))",
  ].join("\n");
  return Number(await onNode(cluster, node, "sh", "-c", script, "away", `/data/${claim}/file`, pid, ...pids));
}
