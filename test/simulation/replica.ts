/** A replica of the reconciler: the real program without its process, on the clocks and the network of the simulation. */
import { reconcilerLease } from "../../src/core/names.ts";
import type { Kind } from "../../src/kube/kinds.ts";
import { WatchHealth } from "../../src/kube/watch/watch-health.ts";
import { ReconcilerMetrics } from "../../src/reconciler/metrics.ts";
import { type ReconcilerOptions, runReconciler } from "../../src/reconciler/run-reconciler.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { plainStores } from "../support/fake-credentials.ts";
import type { ApiServer } from "./api-server.ts";
import { BrokenRule } from "./broken-rule.ts";
import type { Chance } from "./chance.ts";
import { Connection } from "./connection.ts";
import type { ReplicaClock } from "./plan.ts";
import { SimulatedProcess } from "./process.ts";
import { mountpointPodsOf, type Release, releaseNamespace, warmOf } from "./release.ts";
import type { VirtualTime } from "./virtual-time.ts";
import { Weather } from "./weather.ts";

export const lease = { namespace: releaseNamespace, name: reconcilerLease };

export interface ReplicaOptions {
  readonly name: string;
  readonly clock: ReplicaClock;
  readonly server: ApiServer;
  readonly time: VirtualTime;
  readonly chance: Chance;
  readonly leader: () => string | undefined;
  readonly hasElection: boolean;
  readonly hasWatchList: boolean;
  readonly release: Release;
  readonly story: (line: string) => void;
  /** Called before every step of its first process. */
  readonly onStep?: (step: number) => void;
}

interface Running {
  readonly process: SimulatedProcess;
  readonly connection: Connection;
  readonly stop: AbortController;
  readonly progress: Progress;
}

export class Replica {
  readonly name: string;
  readonly weather: Weather;
  readonly #options: ReplicaOptions;
  #running: Running | undefined;
  /** Of the next process. */
  #release: Release;
  #isUninstalled = false;
  #skewMs: number;
  #requests = 0;
  #starts = 0;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.name = options.name;
    this.weather = new Weather(options.chance, options.name);
    this.#skewMs = 1000 * options.clock.skewSeconds;
    this.#release = options.release;
  }

  start(): void {
    const { time, chance, server, name, clock, leader, hasElection, hasWatchList, story } = this.#options;
    if (this.#running !== undefined || this.#isUninstalled) return;
    const random = () => chance.next(`chance of ${name}`);
    const clocks = { skewMs: this.#skewMs, rate: 1 + clock.drift };
    const process = new SimulatedProcess(name, time, clocks, random);
    this.#starts += 1;
    if (this.#starts === 1) process.onStep = this.#options.onStep;
    const onRequest = (_verb: string, { plural }: Kind<unknown>) => {
      if (plural !== "leases") this.#requests += 1;
    };
    const shared = { server, time, leader, hasWatchList, mayUseLeases: hasElection, onRequest };
    const connection = new Connection({ ...shared, process, weather: this.weather, release: this.#release });
    const stop = new AbortController();
    const progress = process.run(() => new Progress());
    const running = { process, connection, stop, progress };
    this.#running = running;
    story(`${name} starts`);
    const log = jsonLogger((line) => {
      if (line.includes("caches listed anew for this term")) process.terms += 1;
      story(`${name} says ${shortened(line)}`);
    }, 2);
    const options = { ...reconcilerOptions(name, hasElection, this.#release), progress };
    process
      .run(() => runReconciler({ signal: stop.signal, log }, connection.client, options))
      .then(
        () => this.#ended(running, "has ended"),
        (error: unknown) => this.#ended(running, `has failed: ${String(error)}`),
      );
  }

  /** kill -9: what it waits for never comes, and requests on their way arrive. */
  crash(): void {
    this.#options.story(`${this.name} crashes`);
    this.#kill();
  }

  /** SIGTERM. */
  stop(): void {
    this.#options.story(`${this.name} is asked to end`);
    const running = this.#running;
    running?.process.run(() => running.stop.abort());
  }

  /** The Deployment replaces its Pod by one of another release. */
  upgrade(release: Release): void {
    this.#release = release;
    this.stop();
  }

  uninstall(): void {
    this.#isUninstalled = true;
    this.#kill();
  }

  freeze(ms: number): void {
    this.#running?.process.freeze(ms);
  }

  moveWallClock(ms: number): void {
    this.#skewMs += ms;
    this.#running?.process.moveWallClock(ms);
  }

  cutStreams(): void {
    this.#running?.connection.cutStreams();
  }

  standStill(plural: string): void {
    this.#running?.connection.standStill(plural);
  }

  /** Called once in every minute of virtual time. */
  checkMinute(): void {
    const requests = this.#requests;
    this.#requests = 0;
    const timers = this.#running?.process.takeTimers() ?? 0;
    checkCounts(this.name, { requests, timers });
    const running = this.#running;
    if (running === undefined || running.process.isFrozen) return;
    const liveness = running.process.run(() => running.progress.liveness());
    if (!liveness.ready) throw new BrokenRule(`${this.name}: ${liveness.because}`);
  }

  #kill(): void {
    this.#running?.process.die();
    this.#running?.connection.cutStreams();
    this.#running = undefined;
  }

  /** kubelet restarts a container that has ended. */
  #ended(running: Running, how: string): void {
    if (this.#running !== running) return;
    this.#options.story(`${this.name} ${how}`);
    running.process.die();
    this.#running = undefined;
    this.#options.time.after(10_000, () => this.start());
  }
}

/** A hot loop makes thousands: eight workloads need far fewer, even with faults. */
const limits = { requests: 600, timers: 3000 };

export interface Counts {
  readonly requests: number;
  readonly timers: number;
}

/** Of one minute. */
export function checkCounts(name: string, { requests, timers }: Counts): void {
  if (requests > limits.requests) throw new BrokenRule(`${name} sent ${requests} requests in a minute`);
  if (timers > limits.timers) throw new BrokenRule(`${name} ran ${timers} timers in a minute`);
}

function shortened(line: string): string {
  const { time: _time, level: _level, ...rest } = JSON.parse(line) as Record<string, unknown>;
  return JSON.stringify(rest).slice(0, 400);
}

function reconcilerOptions(identity: string, required: boolean, release: Release): Omit<ReconcilerOptions, "progress"> {
  return {
    installation: plainStores,
    mountpointPods: mountpointPodsOf(release),
    headroom: { enabled: false, image: "pause", imagePullPolicy: "Never", command: [], priorityClassName: "" },
    rollout: release.rollout,
    pod: { namespace: releaseNamespace, name: identity, uid: identity },
    warm: warmOf(release),
    cleanupIntervalMs: 120_000,
    staleAfterMs: 120_000,
    stallLimitMs: 600_000,
    candidate: { lease, identity, required },
    watchHealth: new WatchHealth(),
    metrics: new ReconcilerMetrics(),
    onReady: () => undefined,
    onLeaseForbidden: () => undefined,
  };
}
