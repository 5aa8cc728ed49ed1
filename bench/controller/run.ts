/**
 * What the reconciler costs in a large cluster: how many workloads it attaches per second, how many requests each of them
 * takes, and its memory beside Pods that are no business of the driver's.
 * Arguments: S3 workloads; counts of foreign Pods, one after the other, 0 for none; --beside CHECKOUT, whose reconciler attaches
 * the same workloads first.
 */
import { loadavg } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { openCluster } from "../../test/support/cluster.ts";
import { controllerAway } from "../../test/support/controller-away.ts";
import { type Faults, FaultyWay } from "../../test/support/faulty-way.ts";
import { createForeignPods } from "../../test/support/foreign-pods.ts";
import { cpuMsOf } from "../cpu-time.ts";
import { table } from "../table.ts";
import { AttachmentWatch, type First } from "./attachment-watch.ts";
import { type Original, originalsOf, writeCopies } from "./copies.ts";
import { type Program, type Reconciler, reconcilerProgram } from "./reconciler-program.ts";
import { SimulatedCluster } from "./simulated-cluster.ts";
import { prepareWarm, taken, untilWaiting, warmFlags } from "./warm-rate.ts";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { beside: { type: "string" } } });
const workloads = Number(positionals[0] ?? 1000);
const foreign = (positionals[1] ?? "10000,50000").split(",").map(Number);
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
using beside = values.beside === undefined ? undefined : await reconcilerProgram(values.beside);
await using simulated = await SimulatedCluster.open(cluster, nodes);
const rows: Record<string, string>[] = [];

await measureRate();
await measureWarmRate();
await measureRequests();
await measureMemory();
process.stdout.write(`${workloads} workloads on ${nodes} simulated nodes\n`);
process.stdout.write(table(rows));

/** Each workload has a volume of its own, so each needs a Mountpoint Pod and an attachment. */
async function measureRate(): Promise<void> {
  const claims = {
    waiting: await simulated.volumes("waiting", workloads),
    late: await simulated.volumes("late", burst),
  };
  await simulated.workloads(claims.waiting);
  if (beside !== undefined) {
    await measureRateOf(beside, "the other checkout: ", claims.late);
    await simulated.endWorkloads(claims.late);
    await simulated.deleteServed();
    await withoutMountpointPods();
  }
  const rates = await measureRateOf(program, "", claims.late);
  const originals = {
    waiting: await originalsOf(simulated, claims.waiting),
    late: await originalsOf(simulated, claims.late),
  };
  await simulated.deleteServed();
  await withoutMountpointPods();
  await measureLimit(claims, originals, rates);
  await simulated.endWorkloads([...claims.waiting, ...claims.late]);
}

/** Of workloads that wait already, and of those that come late. */
async function measureRateOf(measured: Program, whose: string, late: readonly string[]): Promise<Both<number>> {
  await using reconciler = await startReconciler({ measured });
  const started = performance.now();
  const waitingCpu = cpuClock(reconciler);
  const first = await attached(workloads);
  const waitingRate = perSecond(workloads - first.count, first.atMs);
  // It lists everything again before it acts, which is part of its start.
  note(
    `${whose}first attached, of ${workloads} that wait for a reconciler`,
    `${((first.atMs - started) / 1000).toFixed(1)} s`,
  );
  note(`${whose}attached per second from then on`, waitingRate.toFixed(0));
  note("CPU time for each of them", waitingCpu(workloads));

  // The scheduler and kwok are still busy with those; the figure of the Go driver was taken where nothing else happened.
  await attached(workloads, "running");
  const created = performance.now();
  const burstCpu = cpuClock(reconciler);
  await simulated.workloads(late);
  const offered = perSecond(burst, created).toFixed(0);
  await attached(workloads + burst);
  const lateRate = perSecond(burst, created);
  note(`${whose}attached per second, ${burst} created at once (${offered} created per second)`, lateRate.toFixed(0));
  note("CPU time for each of them", burstCpu(burst));
  await attached(workloads + burst, "running");
  return { waiting: waitingRate, late: lateRate };
}

/** The same workloads, created at once, with new Mountpoint Pods and with those that wait. */
async function measureWarmRate(): Promise<void> {
  const claims = await simulated.volumes("warm", burst);
  await prepareWarm(simulated);
  const cold = await burstRateOf(claims, "new");
  const warm = await burstRateOf(claims, "warm");
  note("warm ÷ new, attached per second", (warm / cold).toFixed(2));
}

async function burstRateOf(claims: readonly string[], kind: "new" | "warm"): Promise<number> {
  const rate = await attachBurst(claims, kind);
  await simulated.endWorkloads(claims);
  await simulated.deleteServed();
  await withoutMountpointPods();
  return rate;
}

async function attachBurst(claims: readonly string[], kind: "new" | "warm"): Promise<number> {
  const isWarm = kind === "warm";
  await using reconciler = await startReconciler(isWarm ? { further: warmFlags(simulated, burst) } : {});
  if (isWarm) await untilWaiting(simulated, burst);
  const cpu = cpuClock(reconciler);
  const created = performance.now();
  await simulated.workloads(claims);
  const offered = perSecond(burst, created).toFixed(0);
  await attached(burst);
  const rate = perSecond(burst, created);
  const what = `${burst} created at once, with ${kind} Mountpoint Pods`;
  note(`attached per second, ${what} (${offered} created per second)`, rate.toFixed(0));
  note("CPU time for each of them", cpu(burst));
  await attached(burst, "running");
  note(`with a Mountpoint Pod that runs, per second, ${what}`, perSecond(burst, created).toFixed(0));
  if (isWarm) note("of them with one that waited", String(await taken(simulated)));
  return rate;
}

interface Both<One> {
  readonly waiting: One;
  readonly late: One;
}

/**
 * The loop meets what the reconciler met: the same workloads, a reconciler on standby with the same watches, a scheduler and kwok
 * that do with the copies what they do with Mountpoint Pods. Which number of connections suits these cores is tried.
 */
async function measureLimit(
  claims: Both<readonly string[]>,
  originals: Both<readonly Original[]>,
  rates: Both<number>,
): Promise<void> {
  await using _ = await simulated.heldLease();
  await using standby = await startReconciler({ further: simulated.candidate("standby") });
  const best = { waiting: 0, late: 0 };
  for (const connections of [16, 32, 64]) {
    await simulated.endWorkloads(claims.late);
    const cpu = cpuClock(standby);
    const started = performance.now();
    const first = await writeCopies(simulated, originals.waiting, connections);
    const waiting = perSecond(workloads, started);
    await first.statuses;
    note(`the same written by a loop with ${connections} connections, per second`, waiting.toFixed(0));
    note("CPU time for each of them", cpu(workloads));
    await mountpointPodsRunning();
    const created = performance.now();
    const [second] = await Promise.all([
      writeCopies(simulated, originals.late, connections),
      simulated.workloads(claims.late),
    ]);
    const late = perSecond(burst, created);
    await second.statuses;
    note(
      `the ${burst} beside the creation of their workloads, ${connections} connections, per second`,
      late.toFixed(0),
    );
    best.waiting = Math.max(best.waiting, waiting);
    best.late = Math.max(best.late, late);
    await simulated.deleteServed();
    await withoutMountpointPods();
  }
  note("reconciler ÷ best loop, workloads that wait", (rates.waiting / best.waiting).toFixed(2));
  note(`reconciler ÷ best loop, ${burst} created at once`, (rates.late / best.late).toFixed(2));
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
  await using _ = await startReconciler({ config: counting.kubeconfig });
  counting.requests.length = 0;
  await simulated.workloads(claims);
  await attached(counted, "running");
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

interface Start {
  readonly measured?: Program;
  readonly config?: string;
  readonly further?: readonly string[];
}

function startReconciler({ measured = program, config = kubeconfig, further = [] }: Start = {}): Promise<Reconciler> {
  const flags = [`--kubeconfig=${config}`, `--mountpoint-namespace=${simulated.mountpointNamespace}`, ...further];
  return measured.start([...flags, "--mountpoint-image=driver", "--mountpoint-version=1.0.0"]);
}

/** Until so many workloads have an attachment, on demand with a Mountpoint Pod that runs. */
async function attached(count: number, what: "attached" | "running" = "attached"): Promise<First> {
  await using attachments = new AttachmentWatch(simulated);
  return await attachments.untilThere(count, what);
}

/** On simulated nodes: a workload of the lab's own nodes gets one here, too, and keeps it. */
async function withoutMountpointPods(): Promise<void> {
  const { call, client, mountpointNamespace: namespace } = simulated;
  const isSimulated = ({ spec }: Pod) => spec?.nodeName === undefined || spec.nodeName.startsWith(simulated.name);
  while ((await client.list(call, kinds.pods, { namespace })).some(isSimulated)) await delay(1000);
}

/** What the copied statuses say of them is not true yet. */
async function mountpointPodsRunning(): Promise<void> {
  const { call, client, mountpointNamespace: namespace } = simulated;
  const phases = async () => (await client.list(call, kinds.pods, { namespace })).map(({ status }) => status?.phase);
  while ((await phases()).some((phase) => phase !== "Running")) await delay(1000);
}

function perSecond(count: number, sinceMs: number): number {
  return count / ((performance.now() - sinceMs) / 1000);
}

function note(what: string, figure: string): void {
  rows.push({ what, figure, "load average": loadavg()[0]?.toFixed(0) ?? "" });
  process.stderr.write(`${what}: ${figure}\n`);
}
