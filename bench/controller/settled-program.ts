/**
 * The reconciler of one checkout in a settled cluster in memory, in a process of its own. Prints its measurements as JSON lines.
 * Arguments: the checkout, the size as JSON, and "48 MB FLAG" for a flag of V8 that is set when the heap is that large.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { kinds } from "../../src/kube/kinds.ts";
import type { WatchHealth } from "../../src/kube/watch/watch-health.ts";
import type { controllerStatus } from "../../src/reconciler/domain/controller-status.ts";
import type { installation } from "../../src/reconciler/domain/mountpoint-pod/installation.fixture.ts";
import { ReconcilerMetrics } from "../../src/reconciler/metrics.ts";
import { manualRollout } from "../../src/reconciler/rollout/rollout.fixture.ts";
import type { runReconciler } from "../../src/reconciler/run-reconciler.ts";
import type { Logger } from "../../src/runtime/log.ts";
import type { Progress } from "../../src/runtime/progress.ts";
import { plainStores } from "../../test/support/fake-credentials.ts";
import { LoopWatch, untilIdle } from "./loop-watch.ts";
import { MemoryApi } from "./memory-api.ts";
import {
  claimObject,
  driverVersion,
  mountpointNamespace,
  nodeName,
  type Size,
  settledCluster,
  volumeName,
  volumeObject,
  workloadObject,
  workloadOf,
} from "./settled-cluster.ts";

interface Sources {
  readonly runReconciler: typeof runReconciler;
  readonly controllerStatus: typeof controllerStatus;
  readonly installation: typeof installation;
  readonly Progress: typeof Progress;
  readonly WatchHealth: typeof WatchHealth;
  /** Another checkout may be older. */
  readonly growLargeHeapsFreely?: () => Disposable;
}

const [checkout = "", sizeText = "{}", laterFlag = ""] = process.argv.slice(2);
const size = JSON.parse(sizeText) as Size;
const newcomers = Math.min(300, size.nodes);
/** Long enough for everything that is measured between two sweeps, on cores that others use, too. */
const cleanupIntervalMs = 14_000 + size.nodes * size.volumes;
const restMs = 2000;
const sources = await sourcesOf(checkout);
const api = new MemoryApi(settledCluster(size, sources.controllerStatus));
const stop = new AbortController();
const seen = new Map<string, PromiseWithResolvers<void>>();
let passes = 0;
/** Not the renewals of the lease, which never end. */
const progress = () => passes + api.requests.filter((request) => !request.includes("leases")).length;
let terms = 0;

using loop = new LoopWatch();
using _growth = laterFlag === "" ? sources.growLargeHeapsFreely?.() : setLater(laterFlag);
const log = logger();
const running = sources.runReconciler({ signal: stop.signal, log }, api as never, {
  installation: plainStores,
  mountpointPods: { ...sources.installation, namespace: mountpointNamespace, driverVersion },
  headroom: { enabled: false, image: "", imagePullPolicy: "IfNotPresent", command: [], priorityClassName: "" },
  rollout: manualRollout,
  pod: undefined,
  warm: { perNode: 0, owner: "", releaseNamespace: "" },
  cleanupIntervalMs,
  staleAfterMs: 120_000,
  stallLimitMs: 600_000,
  candidate: { lease: { namespace: "kube-system", name: "lease" }, identity: "bench", required: true },
  progress: new sources.Progress(),
  watchHealth: new sources.WatchHealth(),
  metrics: new ReconcilerMetrics(),
  onReady: () => undefined,
  onLeaseForbidden: () => undefined,
});
running.catch((error: unknown) => {
  process.stderr.write(`${String(error)}\n`);
  process.exit(1);
});

await logged("caches synced");
report("first lists");
await logged("caches listed anew for this term");
report("the lists at the beginning of the term");
await everyPlace();
report("first pass over everything");
reportMemory();
await logged("stale cleanup queued every volume on every node");
await everyPlace();
report("sweep");
await delay(restMs);
report(`${restMs / 1000} s at rest`);
await churn();
report(`${restMs / 1000} s with 100 changes of Pods a second`);
api.put(kinds.persistentVolumes.plural, volumeObject(volumeName(0)));
await untilIdle(500, progress);
report("a change of a volume that every node uses");
await attach();
report(`${newcomers} new workloads with one new volume`);
stop.abort();
await running;

async function sourcesOf(directory: string): Promise<Sources> {
  const files = [
    "reconciler/run-reconciler.ts",
    "reconciler/domain/controller-status.ts",
    "runtime/progress.ts",
    "kube/watch/watch-health.ts",
    // Another checkout may be older.
    ...[
      "reconciler/domain/mountpoint-pod/installation.fixture.ts",
      "reconciler/domain/installation.fixture.ts",
      "runtime/heap-growth.ts",
    ].filter((file) => existsSync(join(directory, "src", file))),
  ];
  const modules = await Promise.all(files.map((file) => import(join(directory, "src", file)) as Promise<object>));
  return Object.assign({}, ...modules) as Sources;
}

/** The walk that queues them makes no pass, and on cores that others use, too, it looks like rest. */
async function everyPlace(): Promise<void> {
  while (passes < size.nodes * size.volumes) await delay(100);
  await untilIdle(500, progress);
}

/** kubelet reports on Pods all the time, mostly what is of no importance here. */
async function churn(): Promise<void> {
  for (let tick = 0; tick < restMs / 100; tick += 1) {
    for (let index = 0; index < 10; index += 1) {
      const pod = workloadOf((tick * 10 + index) % size.nodes, index % size.volumes);
      api.put(kinds.pods.plural, { ...pod, status: { ...pod.status, message: `${tick}` } });
    }
    await delay(100);
  }
}

/** The scheduler and kubelet do their part at once. */
async function attach(): Promise<void> {
  api.onWritten = (plural, object) => {
    const { namespace, name } = object.metadata;
    if (plural !== "pods" || namespace !== mountpointNamespace || !name.startsWith("mp-")) return;
    const { affinity } = object["spec"] as { affinity?: unknown };
    const chosen = /node-\d+\.example\.com/.exec(JSON.stringify(affinity))?.[0];
    const scheduled = { ...object, spec: { ...(object["spec"] as object), nodeName: chosen } };
    setTimeout(() => api.put(plural, scheduled), 20);
    setTimeout(() => api.put(plural, { ...scheduled, status: { phase: "Running" } }), 40);
  };
  const volume = "new" as ReturnType<typeof volumeName>;
  api.put(kinds.persistentVolumes.plural, volumeObject(volume));
  api.put(kinds.persistentVolumeClaims.plural, claimObject("new", volume));
  for (let node = 0; node < newcomers; node += 1) {
    api.put(kinds.pods.plural, workloadObject(`new-${node}`, nodeName(node), "new", "Pending"));
    if (node % 50 === 0) await delay(1);
  }
  await untilIdle(2500, progress);
}

function report(phase: string): void {
  const requests = Map.groupBy(api.requests.splice(0), (request) => request);
  const counts = [...requests].map(([request, all]) => `${request} ${all.length}`);
  const shown = counts.filter((count) => !count.includes("leases")).join(", ");
  const rssMb = process.memoryUsage.rss() / 1024 / 1024;
  const line = { phase, ...loop.read(), rssMb, passes, requests: shown, leaderChanges: terms - 1 };
  passes = 0;
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function reportMemory(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  loop.read();
  const heapMb = process.memoryUsage().heapUsed / 1024 / 1024;
  process.stdout.write(`${JSON.stringify({ memory: { heapMb } })}\n`);
}

function setLater(text: string): Disposable {
  const [limitMb = "", , flag = ""] = text.split(" ");
  const timer = setInterval(() => {
    if (getHeapStatistics().used_heap_size < Number(limitMb) * 1024 * 1024) return;
    clearInterval(timer);
    setFlagsFromString(flag);
  }, 1000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function logged(message: string): Promise<void> {
  const waiting = seen.get(message) ?? Promise.withResolvers<void>();
  seen.set(message, waiting);
  return waiting.promise;
}

/** Every pass takes a logger of its own, and every term begins with a line. */
function logger(): Logger {
  const each: Logger = {
    error: (message, fields) =>
      process.stderr.write(`${message} ${JSON.stringify(fields)} ${String(fields?.["error"])}\n`),
    info: reached,
    debug: () => undefined,
    with: () => {
      passes += 1;
      return each;
    },
  };
  return each;
}

function reached(message: string): void {
  if (message.startsWith("leading")) terms += 1;
  seen.get(message)?.resolve();
  seen.delete(message);
}
