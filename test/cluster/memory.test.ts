/** What the reconciler keeps in memory of a large cluster, with the watches that it has and a real API server. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeAll, expect, it } from "vitest";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { Freshness } from "../../src/kube/watch/freshness.ts";
import { Store } from "../../src/kube/watch/store.ts";
import { watch } from "../../src/kube/watch/watch.ts";
import { WatchHealth } from "../../src/kube/watch/watch-health.ts";
import { emptyView, sizesOf, synced } from "../../src/reconciler/observe/view.ts";
import { watchCluster } from "../../src/reconciler/observe/watches.ts";
import type { Call } from "../../src/runtime/call.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { openCluster } from "../support/cluster.ts";
import { plainStores } from "../support/fake-credentials.ts";
import { createForeignPods, deletePodsIn } from "../support/foreign-pods.ts";
import { scaled } from "../support/scale.ts";
import { installAttachmentKind, Stage } from "../support/stage.ts";

const cluster = openCluster();
/** Few but heavy, or as many as a large cluster has. */
const count = scaled("foreign Pods", 400, 50_000);
const paddingBytes = scaled("bytes in each of them", 32_768, 2048);
const withClaims = count / 10;

beforeAll(() => installAttachmentKind(cluster));

it(`SC-2 of ${count} foreign Pods nothing is kept; of ${withClaims} with claims of others a few fields`, {
  timeout: 300_000 + count * 60,
}, async () => {
  await using stage = await Stage.open(cluster);
  const before = await heldBy((call) => picture(call, stage));
  const wish = { namespace: stage.name, paddingBytes };
  await createForeignPods(stage.call, stage.client, { ...wish, prefix: "plain", count, claims: false });
  const plain = await heldBy((call) => picture(call, stage));
  await createForeignPods(stage.call, stage.client, { ...wish, prefix: "claiming", count: withClaims, claims: true });
  const claiming = await heldBy((call) => picture(call, stage));
  const control = await heldBy((call) => everyPod(call, stage));
  await deletePodsIn(stage.call, stage.client, stage.name);

  // What earlier tests left may vanish meanwhile; nothing is added but the few.
  expect(grown(before.sizes, plain.sizes)).toEqual({});
  expect(grown(plain.sizes, claiming.sizes)).toEqual({ workloads: withClaims });
  // Who keeps them whole shows what they weigh.
  const weight = control.bytes - before.bytes;
  expect(weight).toBeGreaterThan(count * paddingBytes);
  expect(plain.bytes - before.bytes).toBeLessThan(weight / 4);
  expect(claiming.bytes - before.bytes).toBeLessThan(weight / 4);
});

function grown(before: Held["sizes"], after: Held["sizes"]): Held["sizes"] {
  const growth = Object.entries(after).map(([name, size]) => [name, size - (before[name] ?? 0)] as const);
  return Object.fromEntries(growth.filter(([, more]) => more > 0));
}

interface Held {
  readonly sizes: Readonly<Record<string, number>>;
  /** Of the heap of this process, after everything that nobody holds is gone. */
  readonly bytes: number;
}

type Measured = { readonly sizes: Held["sizes"]; readonly ended: Promise<unknown>; readonly held: unknown };

async function heldBy(begin: (call: Call) => Promise<Measured>): Promise<Held> {
  const stop = new AbortController();
  const call = { signal: stop.signal, log: silentLogger };
  const measured = await begin(call);
  stop.abort();
  await measured.ended.catch(() => undefined);
  collectGarbage();
  const bytes = process.memoryUsage().heapUsed;
  // Held until here.
  return { sizes: { ...measured.sizes }, bytes: measured.held === undefined ? Number.NaN : bytes };
}

async function picture(call: Call, stage: Stage): Promise<Measured> {
  const view = emptyView();
  const { mountpointNamespace } = stage;
  const options = {
    mountpointNamespace,
    installation: plainStores,
    progress: new Progress(),
    health: new WatchHealth(),
    freshness: new Freshness(),
  };
  const ended = watchCluster(call, stage.client, view, options);
  await synced(call, view);
  return { sizes: sizesOf(view), ended, held: view };
}

async function everyPod(call: Call, stage: Stage): Promise<Measured> {
  const store = new Store<Pod>({});
  const ended = watch(call, stage.client, { kind: kinds.pods, trim: (pod: Pod) => pod }, store);
  await store.synced(call);
  return { sizes: { pods: store.size }, ended, held: store };
}

function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}
