/**
 * What a move of a running mount costs: from the request to the first read from the new mount in the container, the longest read meanwhile
 * and in as long a time without a move, and how many mounts of one node are moved a minute when all are requested at once.
 * Arguments: volumes of one Pod, moves of each one after the other.
 */
import { setTimeout as pause } from "node:timers/promises";
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { annotations } from "../../src/core/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { openCluster, type PodRef, podManifest } from "../../test/support/cluster.ts";
import { processOf } from "../../test/support/container-process.ts";
import { holders } from "../../test/support/moving.ts";
import { percentile, table } from "../table.ts";
import { Readings } from "./readings.ts";

const volumes = Number(process.argv[2] ?? 10);
const rounds = Number(process.argv[3] ?? 5);
const cluster = openCluster();
const node = cluster.lab.nodes[0]?.name ?? "worker-1";
using client = new KubeClient(kubeconfigCredentials(cluster.lab.layout.kubeconfig), { userAgent: "bench" });
const call = { signal: new AbortController().signal, log: silentLogger };

await using sandbox = await cluster.sandbox();
await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "file", Body: "content\n" }));
const claims: string[] = [];
while (claims.length < volumes) claims.push(await sandbox.volume());
const pod = { namespace: sandbox.name, name: "reader" };
await cluster.apply(manifestOf(pod));
await cluster.untilReady(pod);
const container = await processOf(cluster, pod);
// What is below this link is seen with the mounts of the container.
const readings = new Readings(claims.map((claim) => `/proc/${container?.pid}/root/data/${claim}/file`));
await readings.begin();

const [took, longest, usual]: [number[], number[], number[]] = [[], [], []];
for (let round = 0; round < rounds; round += 1) {
  for (const file of claims.keys()) {
    const [elapsedMs = Number.NaN] = await move([file], `${round}`);
    took.push(elapsedMs);
    longest.push((await readings.of(file)).longestMs);
    await readings.begin();
    await pause(elapsedMs);
    usual.push((await readings.of(file)).longestMs);
  }
}
const together = Math.max(...(await move([...claims.keys()], "together")));
await readings.end();
process.stdout.write(
  [
    `${volumes} volumes of one Pod on ${node}, ${rounds} moves of each; reads that failed: ${readings.errors}`,
    table([
      row("request → first read from the new mount", took),
      row("longest read during a move", longest),
      row("longest read in as long a time without a move", usual),
    ]),
    `all ${volumes} requested at once: ${Math.round(together)} ms, ${Math.round((volumes * 60_000) / together)} mounts a minute\n`,
  ].join("\n"),
);

/** Times from the request to the first read from the new mount of each. */
async function move(files: readonly number[], request: string): Promise<readonly number[]> {
  const former = await Promise.all(files.map(async (file) => (await holders(cluster, claims[file] ?? ""))[0] ?? ""));
  await readings.begin();
  const began = Date.now();
  const patch = { metadata: { annotations: { [annotations.move]: request } } };
  await Promise.all(former.map((name) => client.patch(call, kinds.pods, { namespace: "mount-s3", name }, patch)));
  return (await readings.untilChanged(files)).map((time) => time - began);
}

function manifestOf(ref: PodRef): object {
  const { spec, ...rest } = podManifest(ref, { node }) as { readonly spec: { readonly containers: readonly object[] } };
  const volumeMounts = claims.map((name) => ({ name, mountPath: `/data/${name}` }));
  const mounted = claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const containers = spec.containers.map((one) => Object.assign(one, { volumeMounts }));
  return { ...rest, spec: { ...spec, containers, volumes: mounted } };
}

function row(what: string, values: readonly number[]) {
  return { what, "median ms": percentile(values, 50), "p99 ms": percentile(values, 99) };
}
