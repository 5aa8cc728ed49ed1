/** Moves the workloads of outdated Mountpoint Pods, a few at a time (LC-21). */
import type { NodeName, PodName } from "../../core/names.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import { keyOf } from "../../kube/watch/store.ts";
import type { Call } from "../../runtime/call.ts";
import type { Progress } from "../../runtime/progress.ts";
import { TurnLimit } from "../../runtime/turn-limit.ts";
import { usable } from "../decision/rollout-in.ts";
import { volumeOnNodeKey } from "../domain/volume-on-node.ts";
import type { ReconcilerMetrics } from "../metrics.ts";
import { observedNow, type ReconcileContext } from "../reconcile.ts";
import { everyVolumeOnNode } from "../sweep.ts";
import { check, type Looking, look, performAll, request } from "./act.ts";
import { decide, type Step } from "./decide.ts";
import { type NodeFacts, needsOf } from "./node-facts.ts";
import { type OwnPod, RolloutProgress } from "./progress.ts";
import type { RolloutConfig } from "./settings.ts";
import { RolloutTracker, type Tracked, trackedIn } from "./tracker.ts";

export interface RollOutContext extends Omit<ReconcileContext, "reader" | "rollout"> {
  readonly reader: Looking["reader"];
  readonly rollout: RolloutConfig;
  readonly pod: OwnPod | undefined;
  readonly progress: Pick<Progress, "follow">;
  readonly metrics: Pick<ReconcilerMetrics, "rollout">;
}

/** The rollout is one key: its bounds hold for the whole cluster. */
type Key = "rollout";

/** Changes come in groups. A decision costs a moment for every node. */
const delayMs = 250;

/** Of one term: another leader derives it anew from the objects in the cluster. */
export class Rollout implements Disposable {
  readonly #queue = new WorkQueue<Key>();
  readonly #tracker = new RolloutTracker(() => this.#queue.addLater("rollout", delayMs));
  readonly #nodes = new Map<NodeName, NodeFacts>();
  /** As they were when their workloads were asked to leave them. A late watch shows minutes later that the API server has accepted that. */
  readonly #asked = new Map<PodName, Tracked>();

  /** To be called with what every reconcile has observed. */
  note(...noted: Parameters<RolloutTracker["note"]>): void {
    this.#tracker.note(...noted);
  }

  [Symbol.dispose](): void {
    this.#queue[Symbol.dispose]();
  }

  /** Ends when the call does. */
  async run(call: Call, context: RollOutContext): Promise<void> {
    const turn = new TurnLimit();
    // Before the first decision: a move that is under way counts for the bounds, and a failure pauses.
    for (const key of everyVolumeOnNode(context.view)) {
      if (call.signal.aborted) return;
      if (key !== undefined) this.note(key, trackedIn(observedNow(context, key)));
      await turn.pause();
    }
    const progress = new RolloutProgress(context.events, context.pod);
    using _metrics = context.metrics.rollout(() => ({ counts: this.#tracker.counts, decision: progress.decision }));
    using _progress = context.progress.follow("rollout", () => this.#queue.stalledMs);
    this.#queue.add("rollout");
    const queue = this.#queue;
    await runController(call, { queue, workers: 1, reconcile: (each) => this.#step(each, context, progress) });
  }

  async #step(call: Call, context: RollOutContext, progress: RolloutProgress): Promise<Outcome> {
    this.#forgetAnswered(context);
    const { outdated, moving, failed, obsolete, counts } = this.#tracker;
    for (const node of this.#nodes.keys()) if (!outdated.has(node)) this.#nodes.delete(node);
    const decision = decide({
      now: new Date(),
      config: context.rollout,
      ...{ outdated, moving, failed, obsolete },
      asked: this.#asked,
      nodes: this.#nodes,
      needsOf: ({ persistentVolume }) => {
        const volume = usable(context.view.volumes.get(persistentVolume));
        return volume && needsOf(context.mountpointPods, volume);
      },
    });
    progress.report(call, counts, decision);
    await performAll(call, decision.steps, (step) => this.#perform(call, context, step));
    if (decision.steps.length > 0) return { kind: "again", afterMs: 0, because: "the rollout goes on" };
    return decision.again === undefined ? { kind: "done" } : { kind: "again", ...decision.again };
  }

  async #perform(call: Call, context: RollOutContext, step: Step): Promise<void> {
    if (step.do === "look") {
      this.#nodes.set(step.node, await look(call, context, step.node));
      return;
    }
    const cluster = { ...context, asked: this.#asked };
    if (step.do === "check") await check(call, cluster, step.pod);
    else await request(call, cluster, { do: step.do, pod: step.pod });
    // The next move on this node finds another Pod there.
    this.#nodes.delete(step.pod.node);
    this.#noteNow(context, step.pod);
  }

  /** Another version shows whether the API server has accepted a request, which was conditional on the version. */
  #forgetAnswered(context: RollOutContext): void {
    const { namespace } = context.mountpointPods;
    for (const [name, asked] of this.#asked) {
      const seen = context.view.mountpointPods.get(keyOf({ namespace, name }));
      if (seen?.resourceVersion === asked.resourceVersion) continue;
      this.#asked.delete(name);
      this.#noteNow(context, asked);
    }
  }

  /** The next decision must count this move, whenever the reconcile that follows from it comes. */
  #noteNow(context: RollOutContext, pod: Tracked): void {
    const key = volumeOnNodeKey(pod);
    this.note(key, trackedIn(observedNow(context, key)));
  }
}
