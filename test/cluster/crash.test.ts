/** The reconciler against a real API server, dying between any two of its writes, over and over, while the cluster changes. */
import { once } from "node:events";
import { beforeAll, expect, it, onTestFailed, vi } from "vitest";
import { headroom } from "../../src/core/names.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { WatchHealth } from "../../src/kube/watch/watch-health.ts";
import { ReconcilerMetrics } from "../../src/reconciler/metrics.ts";
import { manualRollout } from "../../src/reconciler/rollout/rollout.fixture.ts";
import { type ReconcilerOptions, runReconciler } from "../../src/reconciler/run-reconciler.ts";
import { jsonLogger, type Logger } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { openCluster } from "../support/cluster.ts";
import { CrowdedStage } from "../support/crowded-stage.ts";
import { plainStores } from "../support/fake-credentials.ts";
import { isGated, isHeadroomPod } from "../support/headroom.ts";
import { below } from "../support/random.ts";
import { scaled } from "../support/scale.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const deathsWanted = scaled("deaths of the reconciler", 200, 1000);

beforeAll(() => installAttachmentKind(cluster));

it(`LC-5 a reconciler that dies at ${deathsWanted} random points leaves every workload served once, and nothing behind`, {
  timeout: 60_000 * (5 + deathsWanted / 20),
}, async () => {
  await using stage = await Stage.open(cluster);
  await using crowd = await CrowdedStage.open(stage);
  await using mortals = new Mortals(stage);
  onTestFailed(() => void process.stderr.write(mortals.lines.join("")));

  while (mortals.deaths.length < deathsWanted || !everyWrite.every((write) => mortals.lastWrites.has(write))) {
    // The next changes meet a reconciler that has just died, or one with nothing to do.
    const before = mortals.deaths.length;
    await Promise.all(Array.from({ length: 1 + below(4) }, () => crowd.change()));
    // What no reconciler has died at by now happens when the last workload of a volume goes, or when a first one stays.
    const isRare = before >= deathsWanted;
    if (isRare && below(2) > 0) await crowd.leave();
    const hasDied = () => mortals.deaths.length > before;
    await expect
      .poll(async () => hasDied() || (await crowd.unsettled()).length === 0, { ...long, interval: 5 })
      .toBe(true);
    // Statuses come when nothing else has happened for a while.
    const goesOn = !isRare && below(20) > 0;
    await expect.poll(async () => goesOn || hasDied() || (await isTold(stage)), long).toBe(true);
  }
  await expect.poll(() => crowd.unsettled(), long).toEqual([]);

  await crowd.leave();
  await expect.poll(() => crowd.unsettled(), long).toEqual([]);
  await expect.poll(() => crowd.leftovers(), long).toEqual([]);
  expect(crowd.violations).toEqual([]);
});

/** At each of which a reconciler must have died. */
const everyWrite = [
  "create Pod",
  "patch Pod",
  "delete Pod",
  "create MountpointS3PodAttachment",
  "patch MountpointS3PodAttachment",
  "applyStatus MountpointS3PodAttachment",
  "delete MountpointS3PodAttachment",
];

async function isTold(stage: Stage): Promise<boolean> {
  return (await stage.attachments()).every(({ status }) => status !== undefined);
}

const writes = new Set<string | symbol>(["create", "patch", "applyStatus", "delete"]);

/**
 * A patch of the version alone only confirms what was observed (SC-7). A life of one to four writes that died of confirmations would
 * never come to a write that changes something.
 */
function changesNothing(patch: unknown): boolean {
  const fields = Object.keys((patch as { metadata?: object } | undefined)?.metadata ?? {});
  return Object.keys(patch ?? {}).join() === "metadata" && fields.join() === "resourceVersion";
}

const gatedDeaths = scaled("deaths of the reconciler with headroom", 20, 200);

it(`LC-19 a reconciler that dies at ${gatedDeaths} random points lets every gated workload go, and leaves no headroom Pod`, {
  timeout: 60_000 * (5 + gatedDeaths / 10),
}, async () => {
  await using stage = await Stage.open(cluster);
  const claim = await stage.volume();
  await using mortals = new Mortals(stage);
  onTestFailed(() => void process.stderr.write(mortals.lines.join("")));

  for (let made = 0; mortals.deaths.length < gatedDeaths || !mortals.lastWrites.has("create Pod"); made += 1) {
    const app = await stage.workload(`app-${made}`, { claims: [claim], gates: [headroom.gate] });
    // Some end while they wait or have just been let go.
    const isLetGo = below(4) > 0;
    if (isLetGo) await untilLetGo(stage, app);
    if (isLetGo && below(2) > 0) await stage.phase(app, "Running");
    if (below(2) > 0) await stage.deletePod(app);
  }
  const waiting = async () =>
    (await stage.client.list(stage.call, kinds.pods, { namespace: stage.name })).filter(isGated);
  await expect.poll(waiting, long).toEqual([]);

  await cluster.kubectl("delete", "pods", "--all", "-n", stage.name, "--grace-period=0", "--force");
  await expect.poll(async () => (await stage.mountpointPods()).filter(isHeadroomPod), long).toEqual([]);
});

async function untilLetGo(stage: Stage, { metadata }: Pod): Promise<void> {
  await vi.waitFor(async () => {
    const pod = await stage.client.get(stage.call, kinds.pods, metadata);
    if (pod === undefined || isGated(pod)) throw new Error(`${metadata.name} is held back`);
  }, long);
}

/** One reconciler after the other in this process; each dies at one of its first writes, before or after the server took it. */
class Mortals implements AsyncDisposable {
  readonly deaths: string[] = [];
  readonly lines: string[] = [];
  readonly #stage: Stage;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.#ended = this.#live();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #live(): Promise<void> {
    const credentials = kubeconfigCredentials(cluster.lab.layout.kubeconfig);
    while (!this.#stop.signal.aborted) {
      using client = new KubeClient(credentials, { userAgent: "mortal" });
      const end = new AbortController();
      const call = { signal: AbortSignal.any([this.#stop.signal, end.signal]), log: this.#log() };
      try {
        await runReconciler(call, this.#mortal(client, end), options(this.#stage));
      } catch (error) {
        if (!call.signal.aborted) throw error;
      }
    }
  }

  /** What was sent before the last write is answered; what comes after it is never sent. */
  #mortal(client: KubeClient, end: AbortController): KubeClient {
    let writesLeft = 1 + below(4);
    const sent = new Set<Promise<unknown>>();
    const dying = once(end.signal, "abort");
    const write = async (name: string, perform: () => Promise<unknown>) => {
      writesLeft -= 1;
      if (writesLeft > 0) {
        const answer = perform();
        sent.add(answer);
        return await answer;
      }
      if (writesLeft === 0) {
        await Promise.allSettled(sent);
        const when = below(2) === 0 ? "before" : "after";
        if (when === "after") await Promise.allSettled([perform()]);
        this.#die(`${when} ${name}`, end);
      }
      await dying;
      throw end.signal.reason;
    };
    return new Proxy(client, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...args: readonly unknown[]) => Promise<unknown>;
        if (!writes.has(name)) return method.bind(target);
        return (...args: [unknown, { kind: string }, ...unknown[]]) => {
          const perform = () => method.apply(target, args);
          return changesNothing(args[3]) ? perform() : write(`${String(name)} ${args[1].kind}`, perform);
        };
      },
    });
  }

  /** The writes before or after which one of them died. */
  get lastWrites(): ReadonlySet<string> {
    return new Set(this.deaths.map((how) => how.replace(/^(before|after) /, "")));
  }

  #die(how: string, end: AbortController): void {
    this.deaths.push(how);
    this.lines.push(`died ${how}\n`);
    end.abort(new Error("died"));
  }

  #log(): Logger {
    return jsonLogger((line) => {
      this.lines.push(line);
      if (this.lines.length > 500) this.lines.splice(0, 100);
    }, 4);
  }
}

function options({ mountpointNamespace: namespace }: Stage): ReconcilerOptions {
  return {
    installation: plainStores,
    mountpointPods: {
      ...{ namespace, image: "driver", imagePullPolicy: "Never", command: "mounter", priorityClassName: "" },
      preemptingPriorityClassName: "",
      ...{ driverVersion: "3.0.0", mountpointVersion: "1.0.0" },
      resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: {} },
      tolerations: [{ operator: "Exists" }],
      imagePullSecrets: [],
      extra: { labels: {}, annotations: {} },
      ca: undefined,
      userBy: "driver",
    },
    headroom: { enabled: true, image: "pause", imagePullPolicy: "Never", command: [], priorityClassName: "" },
    rollout: manualRollout,
    pod: undefined,
    warm: { perNode: 0, owner: "", releaseNamespace: "" },
    cleanupIntervalMs: 500,
    staleAfterMs: 1000,
    stallLimitMs: 600_000,
    candidate: undefined,
    progress: new Progress(),
    watchHealth: new WatchHealth(),
    metrics: new ReconcilerMetrics(),
    onReady: () => undefined,
    onLeaseForbidden: () => undefined,
  };
}
