/** The reconciler against a real API server, dying between any two of its writes, over and over, while the cluster changes. */
import { beforeAll, expect, it, onTestFailed } from "vitest";
import { type ReconcilerOptions, runReconciler } from "../../src/controller/run-reconciler.ts";
import { KubeClient } from "../../src/kube/client.ts";
import { kubeconfigCredentials } from "../../src/kube/credentials.ts";
import { jsonLogger, type Logger } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { openCluster } from "../support/cluster.ts";
import { CrowdedStage } from "../support/crowded-stage.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { installAttachmentKind, long, Stage } from "../support/stage.ts";

const cluster = openCluster();
const deathsWanted = process.env["TEST_SCALE"] === "full" ? 1000 : 60;

beforeAll(() => installAttachmentKind(cluster));

it(`LC-5 a reconciler that dies at ${deathsWanted} random points leaves every workload served once, and nothing behind`, {
  timeout: 60_000 * (5 + deathsWanted / 20),
}, async () => {
  const seed = Date.now() % 1_000_000;
  const random = randomFrom(seed);
  await using stage = await Stage.open(cluster);
  await using crowd = await CrowdedStage.open(stage, random);
  await using mortals = new Mortals(stage, random);
  onTestFailed(() => void process.stderr.write(`seed ${seed}\n${mortals.lines.join("")}`));

  while (mortals.deaths.length < deathsWanted) {
    // The next changes meet a reconciler that has just died, or one with nothing to do.
    const before = mortals.deaths.length;
    await Promise.all(Array.from({ length: 1 + random.below(4) }, () => crowd.change()));
    await expect
      .poll(async () => mortals.deaths.length > before || (await crowd.unsettled()).length === 0, long)
      .toBe(true);
  }
  await expect.poll(() => crowd.unsettled(), long).toEqual([]);
  expect(mortals.deaths).toEqual(
    expect.arrayContaining(["after create Pod", "before create MountpointS3PodAttachment"]),
  );

  await crowd.leave();
  await expect.poll(() => crowd.unsettled(), long).toEqual([]);
  await expect.poll(() => crowd.leftovers(), long).toEqual([]);
  expect(crowd.violations).toEqual([]);
});

/** One reconciler after the other in this process; each dies at one of its first writes, before or after the server took it. */
class Mortals implements AsyncDisposable {
  readonly deaths: string[] = [];
  readonly lines: string[] = [];
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
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

  #mortal(client: KubeClient, end: AbortController): KubeClient {
    let writesLeft = 1 + this.#random.below(4);
    const write = async (method: string, kind: string, perform: () => Promise<unknown>) => {
      end.signal.throwIfAborted();
      writesLeft -= 1;
      if (writesLeft > 0) return await perform();
      const when = this.#random.below(2) === 0 ? "before" : "after";
      if (when === "after") await perform();
      this.deaths.push(`${when} ${method} ${kind}`);
      this.lines.push(`died ${this.deaths.at(-1)}\n`);
      end.abort(new Error("died"));
      throw end.signal.reason;
    };
    return new Proxy(client, {
      get: (target, name: keyof KubeClient) => {
        const method = target[name] as (...args: readonly unknown[]) => Promise<unknown>;
        if (!["create", "patch", "delete"].includes(name as string)) return method.bind(target);
        return (...args: [unknown, { kind: string }]) =>
          write(name as string, args[1].kind, () => method.apply(target, args));
      },
    });
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
    mountpointPods: {
      ...{ namespace, image: "driver", imagePullPolicy: "Never", command: "mounter", priorityClassName: "" },
      ...{ driverVersion: "3.0.0", mountpointVersion: "1.0.0" },
      resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: {} },
      tolerations: [{ operator: "Exists" }],
      imagePullSecrets: [],
      ca: undefined,
      userBy: "driver",
    },
    cleanupIntervalMs: 500,
    staleAfterMs: 1000,
    candidate: undefined,
    progress: new Progress(),
    onReady: () => undefined,
  };
}
