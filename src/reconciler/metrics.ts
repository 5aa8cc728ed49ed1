import { Gauge, Registry } from "prom-client";
import type { ControllerCondition } from "../core/attachment-status.ts";
import { Tally } from "../kube/watch/tally.ts";
import { byLabel, declareMeasured, single } from "../metrics/measured.ts";
import { QueueMetrics } from "../metrics/queues.ts";
import type { ObservedAttachment } from "./decision/decision.ts";
import type { PodProblem } from "./domain/mountpoint-pod-report.ts";
import { sizesOf, type View } from "./observe/view.ts";

/** Prometheus metrics of the reconciler. */
export class ReconcilerMetrics {
  readonly queues: QueueMetrics;
  readonly #registry: Registry;
  readonly #leader: Gauge;

  constructor(registry = new Registry()) {
    this.#registry = registry;
    this.queues = new QueueMetrics(registry);
    this.#leader = new Gauge({
      name: "s3_csi_leader",
      help: "1 if this replica works, 0 if it is on standby.",
      registers: [registry],
    });
  }

  /** This replica works until the result is disposed of. */
  leading(): Disposable {
    this.#leader.set(1);
    return { [Symbol.dispose]: () => this.#leader.set(0) };
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
}

const noPhases = { pending: 0, running: 0, succeeded: 0, failed: 0 } as const;
const noProblems: Readonly<Record<PodProblem["kind"], 0>> = {
  unschedulable: 0,
  notStarting: 0,
  crashing: 0,
  backingOff: 0,
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
