/**
 * Two replicas of the reconciler in a large cluster: how long they take to know it, what they cost at rest, how soon a new workload is
 * attached while other Pods come and go, and how soon the second takes over from a leader that was killed.
 * Arguments: nodes; volumes; nodes that use each volume; Pods of others.
 */
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { kinds } from "../../src/kube/kinds.ts";
import { openCluster } from "../../test/support/cluster.ts";
import { controllerAway } from "../../test/support/controller-away.ts";
import { createForeignPod, createForeignPods } from "../../test/support/foreign-pods.ts";
import { inParallel } from "../../test/support/in-parallel.ts";
import { AttachmentWatch } from "../controller/attachment-watch.ts";
import { type Reconciler, reconcilerProgram } from "../controller/reconciler-program.ts";
import { SimulatedCluster } from "../controller/simulated-cluster.ts";
import { cpuMsOf } from "../cpu-time.ts";
import { percentile, table } from "../table.ts";

const [nodeCount = 5000, volumeCount = 2000, nodesPerVolume = 10, foreign = 80_000] = process.argv.slice(2).map(Number);
const workloadCount = volumeCount * nodesPerVolume;
/** New workloads during the churn, one a second. */
const newcomers = 60;
const churnPerSecond = 100;
const restMs = 60_000;
/** Of each Pod, on top of the 2 KB that it has anyway. */
const paddingBytes = 2048;

const cluster = openCluster();
const { kubeconfig } = cluster.lab.layout;
await using _away = await controllerAway(cluster);
using program = await reconcilerProgram();
await using simulated = await SimulatedCluster.open(cluster, nodeCount, 0);
const { call, client, name: namespace } = simulated;
const rows: Record<string, string>[] = [];
const replicas = new Map<string, Reconciler>();

try {
  const claims = await fill();
  await using attachments = new AttachmentWatch(simulated);
  await start();
  await phase(`${workloadCount} workloads attached`, () => attachments.untilThere(workloadCount));
  await phase("their Mountpoint Pods run, and the statuses say so", () =>
    attachments.untilThere(workloadCount, "running"),
  );
  await phase(`${restMs / 1000} s at rest`, () => delay(restMs));
  await churn(attachments, claims);
  await takeOver(attachments, claims);
} finally {
  for (const replica of replicas.values()) await replica[Symbol.asyncDispose]();
}
process.stdout.write(
  `${nodeCount} nodes, ${volumeCount} volumes on ${nodesPerVolume} nodes each, ${foreign} Pods of others\n`,
);
process.stdout.write(table(rows));

/** Gives the claims. */
async function fill(): Promise<readonly string[]> {
  await phase(`the bench writes ${foreign} Pods of others`, () =>
    createForeignPods(call, client, { namespace, prefix: "foreign", count: foreign, claims: false, paddingBytes }),
  );
  const claims = await simulated.volumes("shared", volumeCount);
  const placed = claims.flatMap((claim, volume) =>
    Array.from({ length: nodesPerVolume }, (_, copy) => ({
      name: `app-${claim}-${copy}`,
      claim,
      node: nodeAt(volume * nodesPerVolume + copy),
    })),
  );
  await phase(`the bench writes ${workloadCount} workloads`, () =>
    inParallel(placed, (one) => simulated.workload(one), 32),
  );
  return claims;
}

function nodeAt(index: number): string {
  return simulated.nodes[index % simulated.nodes.length] ?? "";
}

/** Both at once, as a rollout does. */
async function start(): Promise<void> {
  const flags = [`--kubeconfig=${kubeconfig}`, `--mountpoint-namespace=${simulated.mountpointNamespace}`];
  const image = ["--mountpoint-image=driver", "--mountpoint-version=1.0.0"];
  const names = ["replica-a", "replica-b"];
  const began = performance.now();
  const started = await Promise.all(
    names.map((name) => program.start([...flags, ...image, ...simulated.candidate(name)])),
  );
  for (const [index, replica] of started.entries()) replicas.set(names[index] ?? "", replica);
  await note("two replicas start, until both know the cluster", performance.now() - began, new Map());
}

/** Workloads on nodes that do not use the volume yet, while Pods of others come and go. */
async function churn(attachments: AttachmentWatch, claims: readonly string[]): Promise<void> {
  const times: number[] = [];
  let others = 0;
  await phase(`${newcomers} new workloads beside ${churnPerSecond} Pods of others a second`, async () => {
    const stop = new AbortController();
    const churning = comeAndGo(stop.signal, () => {
      others += 1;
    });
    const attaching: Promise<void>[] = [];
    for (let index = 0; index < newcomers; index += 1) {
      attaching.push(attach(attachments, claims, index).then((ms) => void times.push(ms)));
      await delay(1000);
    }
    await Promise.all(attaching);
    stop.abort();
    await churning;
  });
  const [median, p99] = [50, 99].map((percent) => percentile(times, percent).toFixed(0));
  rows.push({
    what: "Pod created → attached, median, p99 and longest",
    figure: `${median}, ${p99}, ${longest(times)} ms`,
  });
  rows.push({ what: "Pods of others that came and went meanwhile", figure: String(others) });
}

/** Created and deleted, at most so many a second. */
async function comeAndGo(signal: AbortSignal, onPod: () => void): Promise<void> {
  const work: Promise<void>[] = [];
  for (let index = 0; !signal.aborted; index += 1) {
    work.push(comeAndGoOnce(`churn-${index}`).then(onPod));
    if (work.length % churnPerSecond === 0) await Promise.all([delay(1000), ...work.splice(0)]);
  }
  await Promise.all(work);
}

async function comeAndGoOnce(name: string): Promise<void> {
  const { uid } = await createForeignPod(call, client, { namespace, name, claims: false, paddingBytes });
  await client.delete(call, kinds.pods, { namespace, name }, { uid });
}

/** How many milliseconds it took. */
async function attach(attachments: AttachmentWatch, claims: readonly string[], index: number): Promise<number> {
  const claim = claims[index % claims.length] ?? "";
  const created = performance.now();
  // The nodes of this volume are those that follow index * nodesPerVolume.
  const node = nodeAt((index % claims.length) * nodesPerVolume + nodesPerVolume + Math.floor(index / claims.length));
  const uid = await simulated.workload({ name: `new-${claim}-${index}`, claim, node });
  await attachments.untilAttached(uid);
  return performance.now() - created;
}

/** By SIGKILL, with a workload that comes right afterwards. */
async function takeOver(attachments: AttachmentWatch, claims: readonly string[]): Promise<void> {
  const before = await simulated.leader();
  rows.push({ what: "changes of the leader so far", figure: String(before?.changes ?? "nobody leads") });
  const leader = replicas.get(before?.name ?? "");
  if (before === undefined || leader === undefined) throw new Error("no replica leads");
  replicas.delete(before.name);
  const killed = performance.now();
  await leader[Symbol.asyncDispose]();
  await attach(attachments, claims, newcomers);
  await note("leader killed → a workload that came then is attached", performance.now() - killed, new Map());
}

async function phase<Result>(what: string, work: () => Promise<Result>): Promise<Result> {
  for (const replica of replicas.values()) await replica.loop();
  const before = cpuOfAll();
  const began = performance.now();
  const result = await work();
  await note(what, performance.now() - began, before);
  return result;
}

/** By name of the program. */
function cpuOfAll(): ReadonlyMap<string, number> {
  const own = [...replicas].map(([name, { pid }]) => [name, pid] as const);
  const pids = [...own, ...simulated.others, ["this benchmark", process.pid] as const];
  return new Map(pids.map(([name, pid]) => [name, cpuMsOf(pid)]));
}

async function note(what: string, ms: number, before: ReadonlyMap<string, number>): Promise<void> {
  const after = cpuOfAll();
  const cpu = [...before].map(([name, was]) => `${name} ${(((after.get(name) ?? was) - was) / 1000).toFixed(1)}`);
  const states = [];
  for (const [name, replica] of replicas) {
    const { longestGapMs, longestTurnMs } = await replica.loop();
    const turn = `longest turn ${longestTurnMs.toFixed(0)} ms of CPU, longest gap ${longestGapMs.toFixed(0)} ms`;
    states.push(`${name} ${replica.residentMb.toFixed(0)} MB, ${turn}`);
  }
  const row = {
    what,
    figure: `${(ms / 1000).toFixed(1)} s`,
    "CPU s": cpu.join(", "),
    replicas: states.join("; "),
    "load average": loadavg()[0]?.toFixed(0) ?? "",
  };
  process.stderr.write(`${JSON.stringify(row)}\n`);
  rows.push(row);
}

function longest(values: readonly number[]): string {
  return Math.max(...values).toFixed(0);
}
