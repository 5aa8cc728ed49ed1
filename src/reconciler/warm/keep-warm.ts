/** Keeps as many Mountpoint Pods without a volume on each node as the settings say (WM-1). */
import { randomUUID } from "node:crypto";
import { DriverError } from "../../core/errors.ts";
import type { NodeName, PodName } from "../../core/names.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import type { Watcher } from "../../kube/watch/watch.ts";
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import type { Progress } from "../../runtime/progress.ts";
import type { ReportedWaitingPod } from "../domain/mountpoint-pod/warm-pod.ts";
import type { View } from "../observe/view.ts";
import { createWarmPod, deleteWarmPod, type WarmCluster } from "./act.ts";
import { decide, isStartingUp, type ObservedNode, type WarmStep } from "./decide.ts";
import { WarmHistory } from "./history.ts";
import { WarmNodes } from "./nodes.ts";
import type { WarmPool } from "./pool.ts";
import { followRoots } from "./trusted-roots.ts";

export interface WarmContext extends WarmCluster {
  readonly view: View;
  readonly pool: WarmPool;
  readonly watcher: Watcher;
  readonly progress: Pick<Progress, "follow" | "pulse">;
}

const workers = 4;

/** How many start at the same time in the whole cluster, so that an upgrade does not start one on every node at once. */
const startingAtOnce = 16;

/** After an attempt that failed for a reason that concerns every node. */
const pauseMs = 30_000;

/**
 * A claim of a volume whose write has not arrived by then will not be used. Much longer than a watch may be silent (150 s) and the list
 * after that takes: until then the view may lack the attachment of a Mountpoint Pod that serves.
 */
const claimLimitMs = 600_000;

/** Ends when the call does. Runs also where none are to wait, and then deletes those of an earlier configuration. */
export async function keepWarm(call: Call, context: WarmContext): Promise<void> {
  const nodes = new WarmNodes();
  const { warm, watcher, progress } = context;
  const following = warm.perNode === 0 ? undefined : nodes.follow(call, watcher, warm.releaseNamespace, progress);
  const keeper = new Keeper(context, nodes);
  const roots = warm.perNode === 0 ? undefined : followRoots(call, context, (hash) => keeper.trust(hash));
  await Promise.all([following, roots, keepOn(call, keeper)]);
}

async function keepOn(call: Call, keeper: Keeper): Promise<void> {
  try {
    await keeper.run(call);
  } catch (error) {
    if (!call.signal.aborted) throw error;
  }
}

class Keeper {
  readonly #context: WarmContext;
  readonly #nodes: WarmNodes;
  readonly #history = new WarmHistory(randomUUID());
  readonly #queue = new WorkQueue<NodeName>();
  readonly #trusted = Promise.withResolvers<void>();
  /** Until then none is created on any node. */
  #pausedUntilMs = 0;

  constructor(context: WarmContext, nodes: WarmNodes) {
    this.#context = context;
    this.#nodes = nodes;
  }

  async run(call: Call): Promise<void> {
    const { warm, progress } = this.#context;
    using queue = this.#queue;
    if (warm.perNode > 0) await Promise.all([this.#nodes.synced(call), orAborted(call, this.#trusted.promise)]);
    using _enqueueing = this.#enqueueNodes(queue);
    using _progress = progress.follow("waiting Mountpoint Pods", () => queue.stalledMs);
    await runController(call, { queue, workers, reconcile: (each, node) => this.#keep(each, node) });
  }

  /** Those with another certificate authority are outdated. */
  trust(roots: string): void {
    const { pool, view } = this.#context;
    pool.trust(roots);
    this.#trusted.resolve();
    for (const { node } of view.waitingPods.values()) this.#queue.add(node);
  }

  #enqueueNodes(queue: WorkQueue<NodeName>): Disposable {
    const { view } = this.#context;
    const { states, plugins } = this.#nodes;
    const stack = new DisposableStack();
    const add = (node: NodeName | undefined) => node !== undefined && queue.add(node);
    stack.use(states.subscribe(({ key }) => add(key as NodeName)));
    stack.use(plugins.subscribe(({ before, after }) => add(after ?? before)));
    stack.use(
      view.waitingPods.subscribe(({ before, after }) => {
        if (before !== undefined && after === undefined) this.#noteRemoval(before);
        add((after ?? before)?.node);
      }),
    );
    stack.use(
      view.workloads.subscribe(({ before, after }) => {
        // Others on the node may have waited for its start.
        if (before?.phase === "pending" && after?.phase !== "pending") add(before.node);
      }),
    );
    for (const { name } of states.values()) queue.add(name);
    for (const { node } of view.waitingPods.values()) queue.add(node);
    return stack;
  }

  #noteRemoval(pod: ReportedWaitingPod): void {
    const hasVolume = this.#context.view.mountpointPods.count("warmPod", pod.name) > 0;
    this.#history.removed(pod, hasVolume, performance.now());
  }

  async #keep(call: Call, node: NodeName): Promise<Outcome> {
    const { step, again } = decide(this.#observe(node));
    if (step === undefined) return again === undefined ? { kind: "done" } : { kind: "again", ...again };
    // In the same turn as the decision: no volume may take it any more.
    if (step.do === "delete") this.#context.pool.claimForDeletion(step.pod);
    const pod = step.do === "delete" ? step.pod.name : this.#history.nextName(node);
    call.log.info("waiting Mountpoint Pod step", { step: step.do, because: step.because, node, mountpointPod: pod });
    await this.#perform(call, step);
    return { kind: "again", afterMs: 0, because: "one step at a time" };
  }

  async #perform(call: Call, step: WarmStep): Promise<void> {
    if (step.do === "delete") {
      this.#history.deleting(step.pod.name, step.isFailure);
      await deleteWarmPod(call, this.#context, step.pod);
      return;
    }
    try {
      await createWarmPod(call, this.#context, this.#history, step.node);
    } catch (error) {
      const nowMs = performance.now();
      if (error instanceof DriverError) this.#pausedUntilMs = nowMs + pauseMs;
      else this.#history.failed(step.node, nowMs);
      throw error;
    }
  }

  #observe(node: NodeName): ObservedNode {
    const { view, warm, pool } = this.#context;
    const { states, plugins } = this.#nodes;
    const nowMs = performance.now();
    const state = states.get(node);
    if (state === undefined) this.#history.forget(node);
    const waiting = view.waitingPods.by("node", node).filter(({ name }) => !pool.isListed(name));
    const pods = waiting.filter((pod) => this.#isSpare(pod));
    const isStarting = view.workloads
      .by("node", node)
      .some(({ phase, terminating }) => phase === "pending" && !terminating);
    const now = new Date();
    return {
      now,
      node,
      perNode: warm.perNode,
      state,
      withoutPluginMs: this.#history.withoutPluginMs(node, plugins.count("node", node) > 0, nowMs),
      pods,
      abandoned: new Set(pods.map(({ name }) => name).filter((name) => this.#isAbandoned(name))),
      deleting: new Set(pods.filter((pod) => pool.isToBeDeleted(pod)).map(({ name }) => name)),
      claimEndsMs: this.#claimEndsMs(waiting.filter((pod) => !pods.includes(pod))),
      settings: pool.settings,
      isStarting: this.#history.isStarting(node, isStarting, nowMs),
      backOffMs: this.#history.backOffMs(node, nowMs),
      startable: nowMs < this.#pausedUntilMs ? 0 : startingAtOnce - this.#startingUp(now),
    };
  }

  /** Only those of the current settings: others are deleted without waiting for them to start. */
  #startingUp(now: Date): number {
    const { view, pool } = this.#context;
    return view.waitingPods.by("starting", pool.settings).filter((pod) => isStartingUp(now, pod)).length;
  }

  /** No volume is about to get it. */
  #isSpare(pod: ReportedWaitingPod): boolean {
    const { pool } = this.#context;
    return pool.claimedMs(pod.name) === undefined || pool.isToBeDeleted(pod) || this.#isAbandoned(pod.name);
  }

  #isAbandoned(name: PodName): boolean {
    return (this.#context.pool.claimedMs(name) ?? 0) >= claimLimitMs;
  }

  #claimEndsMs(claimed: readonly ReportedWaitingPod[]): number | undefined {
    const ends = claimed.map(({ name }) => claimLimitMs - (this.#context.pool.claimedMs(name) ?? 0));
    return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends));
  }
}
