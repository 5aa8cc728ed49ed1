/**
 * What the reconciler costs in a large cluster: how many workloads it attaches per second, how many requests each of them
 * takes, and its memory beside Pods that are no business of the driver's.
 * Arguments: S3 workloads; counts of foreign Pods, one after the other, 0 for none.
 */
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { kinds, type MountpointS3PodAttachment, type Pod } from "../../src/kube/kinds.ts";
import { Store } from "../../src/kube/watch/store.ts";
import { watch } from "../../src/kube/watch/watch.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { openCluster } from "../../test/support/cluster.ts";
import { controllerAway } from "../../test/support/controller-away.ts";
import { type Faults, FaultyWay } from "../../test/support/faulty-way.ts";
import { createForeignPods } from "../../test/support/foreign-pods.ts";
import { cpuMsOf } from "../cpu-time.ts";
import { table } from "../table.ts";
import { type Originals, originalsIn, writeCopies } from "./copies.ts";
import { type Reconciler, reconcilerProgram } from "./reconciler-program.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";

const workloads = Number(process.argv[2] ?? 1000);
const foreign = (process.argv[3] ?? "10000,50000").split(",").map(Number);
/** As many as the figure of the Go driver was taken with. */
const burst = Math.min(300, workloads);
const counted = Math.min(100, workloads);
const nodes = 50;
/** On top of the 2 KB that such a Pod has anyway. */
const paddingBytes = 2048;
/** What the first picture and the last burst of events took is given back when V8 finds the time. */
const quietMs = 30_000;

const cluster = openCluster();
const { kubeconfig } = cluster.lab.layout;
// The lab's own would do the same work.
await using _away = await controllerAway(cluster);
using program = await reconcilerProgram();
await using simulated = await SimulatedCluster.open(cluster, nodes);
const rows: Record<string, string>[] = [];

await measureLimit(await measureRate());
await measureRequests();
await measureMemory();
process.stdout.write(`${workloads} workloads on ${nodes} simulated nodes\n`);
process.stdout.write(table(rows));

/** Each workload has a volume of its own, so each needs a Mountpoint Pod and an attachment. */
async function measureRate(): Promise<Originals> {
  const waiting = await simulated.volumes("waiting", workloads);
  const late = await simulated.volumes("late", burst);
  await simulated.workloads(waiting);
  await using reconciler = await startReconciler();
  const started = performance.now();
  const waitingCpu = cpuClock(reconciler);
  await attached(workloads);
  note(`attached per second, ${workloads} that wait for a reconciler`, perSecond(workloads, started));
  note("CPU time for each of them", waitingCpu(workloads));

  // The scheduler and kwok are still busy with those; the figure of the Go driver was taken where nothing else happened.
  await attached(workloads, isRunning);
  const originals = await originalsIn(simulated);
  const created = performance.now();
  const burstCpu = cpuClock(reconciler);
  await simulated.workloads(late);
  const offered = perSecond(burst, created);
  await attached(workloads + burst);
  note(`attached per second, ${burst} created at once (${offered} created per second)`, perSecond(burst, created));
  note("CPU time for each of them", burstCpu(burst));
  await simulated.endWorkloads([...waiting, ...late]);
  await withoutMountpointPods();
  return originals;
}

/** Scheduler and kwok do with the copies what they do with Mountpoint Pods. */
async function measureLimit(originals: Originals): Promise<void> {
  const started = performance.now();
  await writeCopies(simulated, originals);
  const limit = perSecond(originals.attachments.length, started);
  note("the same objects written by a loop that does nothing else, per second", limit);
  await simulated.deleteServed();
  await withoutMountpointPods();
}

/** Of everybody who shares the cores, from now on. */
function cpuClock(reconciler: Reconciler): (workloadCount: number) => string {
  const pids = new Map([["reconciler", reconciler.pid], ...simulated.others, ["this benchmark", process.pid]]);
  const before = new Map([...pids].map(([name, pid]) => [name, cpuMsOf(pid)]));
  return (count) => {
    const each = [...pids].map(([name, pid]) => [name, (cpuMsOf(pid) - (before.get(name) ?? 0)) / count] as const);
    const whole = each.reduce((sum, [, ms]) => sum + ms, 0);
    return `${whole.toFixed(1)} ms: ${each.map(([name, ms]) => `${name} ${ms.toFixed(1)}`).join(", ")}`;
  };
}

/** From the first look to a Mountpoint Pod that runs, and from the end of the workload to nothing. */
async function measureRequests(): Promise<void> {
  const fair: Faults = { fateOf: () => "passed", latenessMs: () => 0 };
  await using counting = await FaultyWay.open(kubeconfig, fair);
  const claims = await simulated.volumes("counted", counted);
  await using _ = await startReconciler(counting.kubeconfig);
  counting.requests.length = 0;
  await simulated.workloads(claims);
  await attached(counted, isRunning);
  noteRequests("comes", counting.requests.splice(0));
  await simulated.endWorkloads(claims);
  await withoutMountpointPods();
  noteRequests("goes", counting.requests.splice(0));
}

function noteRequests(what: string, requests: FaultyWay["requests"]): void {
  const kindsOf = Map.groupBy(requests, ({ method, url = "" }) => `${method} ${resourceIn(url)}`);
  const each = [...kindsOf].map(([kind, all]) => `${kind} ${(all.length / counted).toFixed(2)}`);
  note(`requests for a workload that ${what}`, `${(requests.length / counted).toFixed(2)} (${each.join(", ")})`);
}

/** Such as "pods" or "mountpoints3podattachments/status". */
function resourceIn(url: string): string {
  const { pathname } = new URL(url, "http://localhost");
  const [resource = "", , ...subresource] = pathname
    .replace(/^\/apis?\/(.*?\/)?v\d\/(namespaces\/[^/]+\/)?/, "")
    .split("/");
  return [resource, ...subresource].join("/");
}

/** A process that finds the Pods there when it starts, and one that saw all of them come. */
async function measureMemory(): Promise<void> {
  await using witness = await startReconciler();
  await noteMemory("without foreign Pods", witness);
  let made = 0;
  for (const count of foreign.filter((each) => each > 0)) {
    const wish = { namespace: simulated.name, prefix: `foreign-${count}`, paddingBytes, claims: false };
    await createForeignPods(simulated.call, simulated.client, { ...wish, count: count - made });
    made = count;
    await noteMemory(`with ${count} foreign Pods`, witness);
  }
}

async function noteMemory(what: string, witness: Reconciler): Promise<void> {
  await using fresh = await startReconciler();
  await delay(quietMs);
  note(`RSS ${what}, of a process started then`, `${fresh.residentMb.toFixed(1)} MB`);
  note(`RSS ${what}, of a process that ran before`, `${witness.residentMb.toFixed(1)} MB`);
}

function startReconciler(config = kubeconfig): Promise<Reconciler> {
  const flags = [`--kubeconfig=${config}`, `--mountpoint-namespace=${simulated.mountpointNamespace}`];
  return program.start([...flags, "--mountpoint-image=driver", "--mountpoint-version=1.0.0"]);
}

/** Until so many workloads have an attachment, as a watch sees it, and each of them is as it should be. */
async function attached(count: number, isRight: (one: MountpointS3PodAttachment) => boolean = Boolean): Promise<void> {
  const stop = new AbortController();
  const call = { signal: stop.signal, log: silentLogger };
  const store = new Store<boolean, "all">({ all: () => ["all"] });
  const keep = ({ spec }: MountpointS3PodAttachment) => spec.nodeName.startsWith(simulated.name);
  const watching = watch(call, simulated.client, { kind: kinds.attachments, keep, trim: isRight }, store);
  const isThere = (all: readonly boolean[]) => (all.length === count && all.every(Boolean)) || undefined;
  await store.waitFor(call, { index: "all", value: "all" }, isThere);
  stop.abort();
  await watching;
}

function isRunning({ status }: MountpointS3PodAttachment): boolean {
  const pods = Object.values(status?.mountpointPods ?? {});
  return pods.length > 0 && pods.every(({ phase }) => phase === "Running");
}

/** On simulated nodes: a workload of the lab's own nodes gets one here, too, and keeps it. */
async function withoutMountpointPods(): Promise<void> {
  const { call, client, mountpointNamespace: namespace } = simulated;
  const isSimulated = ({ spec }: Pod) => spec?.nodeName === undefined || spec.nodeName.startsWith(simulated.name);
  while ((await client.list(call, kinds.pods, { namespace })).some(isSimulated)) await delay(1000);
}

function perSecond(count: number, sinceMs: number): string {
  return (count / ((performance.now() - sinceMs) / 1000)).toFixed(0);
}

function note(what: string, figure: string): void {
  rows.push({ what, figure, "load average": loadavg()[0]?.toFixed(0) ?? "" });
  process.stderr.write(`${what}: ${figure}\n`);
}
