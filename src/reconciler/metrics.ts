import { Gauge, Registry } from "prom-client";
import type { ControllerCondition } from "../core/attachment-status.ts";
import { Tally } from "../kube/watch/tally.ts";
import { byLabel, declareMeasured, single } from "../metrics/measured.ts";
import { QueueMetrics } from "../metrics/queues.ts";
import type { ObservedAttachment } from "./decision/decision.ts";
import type { PodProblem } from "./domain/mountpoint-pod/mountpoint-pod-report.ts";
import type { RolloutState } from "./domain/rollout.ts";
import { sizesOf, type View } from "./observe/view.ts";
import { type Decision, type Held, noneBlocked } from "./rollout/decide.ts";
import { noCounts } from "./rollout/tracker.ts";

export interface RolloutFigures {
  readonly counts: Readonly<Record<RolloutState, number>>;
  readonly decision: Pick<Decision, "held" | "blocked" | "failures"> | undefined;
}

/** Prometheus metrics of the reconciler. */
export class ReconcilerMetrics {
  readonly queues: QueueMetrics;
  readonly #registry: Registry;
  readonly #leader: Gauge;
  #rollout: () => RolloutFigures = noRollout;

  constructor(registry = new Registry()) {
    this.#registry = registry;
    this.queues = new QueueMetrics(registry);
    this.#leader = new Gauge({
      name: "s3_csi_leader",
      help: "1 if this replica works, 0 if it is on standby.",
      registers: [registry],
    });
    this.#declareRollout();
  }

  /** This replica works until the result is disposed of. */
  leading(): Disposable {
    this.#leader.set(1);
    return { [Symbol.dispose]: () => this.#leader.set(0) };
  }

  /** Shows the rollout of this replica, which leads, until the result is disposed of. */
  rollout(read: () => RolloutFigures): Disposable {
    this.#rollout = read;
    return { [Symbol.dispose]: () => (this.#rollout = noRollout) };
  }

  /** Counts what is in the caches, and shows it at every scrape. */
  measure(view: View): void {
    const phases = new Tally(view.mountpointPods, noPhases, ({ phase }) => ({ [phase]: 1 }));
    const waiting = new Tally(view.waitingPods, noPhases, ({ phase }) => ({ [phase]: 1 }));
    const problems = new Tally(view.mountpointPods, noProblems, ({ problem }) =>
      problem ? { [problem.kind]: 1 } : {},
    );
    const states = new Tally(view.attachments, noStates, (attachment) => ({ [stateOf(attachment)]: 1 }));
    const attached = new Tally(view.attachments, { workloads: 0 }, (attachment) => ({
      workloads: servedBy(attachment),
    }));
    declareMeasured(this.#registry, {
      name: "s3_csi_cached_objects",
      help: "Objects in the caches of the reconciler.",
      labels: ["cache"],
      read: byLabel("cache", () => sizesOf(view)),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_mountpoint_pods",
      help: "Mountpoint Pods of volumes, by phase.",
      labels: ["phase"],
      read: byLabel("phase", () => phases.sums),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_mountpoint_pod_problems",
      help: "Mountpoint Pods that do not serve, or will not for long, by reason.",
      labels: ["problem"],
      read: byLabel("problem", () => problems.sums),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_warm_mountpoint_pods",
      help: "Mountpoint Pods that wait for a volume, by phase.",
      labels: ["phase"],
      read: byLabel("phase", () => waiting.sums),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_attachments",
      help: "Attachments, by state.",
      labels: ["state"],
      read: byLabel("state", () => states.sums),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_attached_workloads",
      help: "Workloads in attachments, once for each volume that they use.",
      labels: [],
      read: single(() => attached.sums.workloads),
    });
  }

  #declareRollout(): void {
    declareMeasured(this.#registry, {
      name: "s3_csi_rollout_mountpoint_pods",
      help: "Mountpoint Pods with workloads, by their state in the rollout of the settings of now.",
      labels: ["state"],
      read: byLabel("state", () => this.#rollout().counts),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_rollout_held",
      help: "1 for the reason why outdated Mountpoint Pods are not replaced.",
      labels: ["because"],
      read: byLabel("because", () => {
        const held = this.#rollout().decision?.held;
        return held === undefined ? noneHeld : { ...noneHeld, [held]: 1 };
      }),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_rollout_failures",
      help: "Mountpoint Pods whose workloads could not be moved by the rollout.",
      labels: [],
      read: single(() => this.#rollout().decision?.failures.length ?? 0),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_rollout_blocked_mountpoint_pods",
      help: "Outdated Mountpoint Pods on nodes where they cannot be replaced.",
      labels: ["because"],
      read: byLabel("because", () => this.#rollout().decision?.blocked ?? noneBlocked),
    });
  }
}

const noRollout = (): RolloutFigures => ({ counts: noCounts, decision: undefined });
const noneHeld: Readonly<Record<Held, 0>> = { manual: 0, paused: 0, failures: 0, window: 0, nodes: 0 };

const noPhases = { pending: 0, running: 0, succeeded: 0, failed: 0 } as const;
const noProblems: Readonly<Record<PodProblem["kind"], 0>> = {
  unschedulable: 0,
  notStarting: 0,
  crashing: 0,
  backingOff: 0,
  notRestarting: 0,
  stuck: 0,
  leaving: 0,
  ended: 0,
};
/** unassigned: a workload has lost its Mountpoint Pod. unscheduled: a Mountpoint Pod has no node. new: not reported on yet. */
const noStates = { assigned: 0, unassigned: 0, unscheduled: 0, unused: 0, new: 0 } as const;

function stateOf({ spec, status }: ObservedAttachment): keyof typeof noStates {
  if (Object.values(spec.mountpointS3PodAttachments).every((served) => served.length === 0)) return "unused";
  const statusOf = (type: ControllerCondition) =>
    status?.conditions?.find((condition) => condition.type === type)?.status;
  if (statusOf("Assigned") === undefined) return "new";
  if (statusOf("Assigned") !== "True") return "unassigned";
  return statusOf("Scheduled") === "True" ? "assigned" : "unscheduled";
}

function servedBy({ spec }: ObservedAttachment): number {
  return Object.values(spec.mountpointS3PodAttachments).reduce((sum, served) => sum + served.length, 0);
}
