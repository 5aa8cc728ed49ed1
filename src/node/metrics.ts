import { Counter, Histogram, Registry } from "prom-client";
import type { SourceCondition } from "../core/attachment-status.ts";
import { byLabel, declareMeasured, single } from "../metrics/measured.ts";

/**
 * What a publish waits for. attachment: the reconciler assigns a Mountpoint Pod. pod: the Mountpoint Pod is scheduled to this node.
 * mounter: its container listens. mount: mount-s3 answers. bind: the target shows the mount.
 */
export type PublishStep = "attachment" | "pod" | "credentials" | "mounter" | "mount" | "bind";

/** Prometheus metrics of the node plugin. */
export class NodeMetrics {
  readonly deaths: Counter;
  /** The histogram's count is the number of heals. */
  readonly healSeconds: Histogram;
  readonly failedHeals: Counter;
  readonly refusedHeals: Counter;
  readonly moves: Counter;
  readonly failedMoves: Counter;
  readonly hangs: Counter;
  readonly orphanedTargets: Counter;
  readonly #registry: Registry;
  readonly #steps: Histogram<"step">;
  /** How many publishes are in each step now. */
  readonly #waiting: Record<PublishStep, number> = {
    ...{ attachment: 0, pod: 0, credentials: 0 },
    ...{ mounter: 0, mount: 0, bind: 0 },
  };

  constructor(registry = new Registry()) {
    const registers = [registry];
    this.#registry = registry;
    this.deaths = new Counter({
      name: "s3_csi_mount_deaths_total",
      help: "Mounts whose mount-s3 ended, or was given up, while workloads used them.",
      registers,
    });
    this.healSeconds = new Histogram({
      name: "s3_csi_mount_heal_seconds",
      help: "How long a mount was away until the workloads that use it had it back.",
      buckets: [0.5, 1, 2, 3, 5, 10, 30, 60, 300],
      registers,
    });
    this.failedHeals = new Counter({
      name: "s3_csi_mount_heal_failures_total",
      help: "Attempts to heal a dead mount that did not succeed. Each is followed by another one, or by the end of its workloads.",
      registers,
    });
    this.refusedHeals = new Counter({
      name: "s3_csi_mount_heal_refusals_total",
      help: "Dead mounts that were left alone for safety, because their path in a container led to something else.",
      registers,
    });
    this.moves = new Counter({
      name: "s3_csi_mount_moves_total",
      help: "Volumes of running Pods that were moved to another Mountpoint Pod.",
      registers,
    });
    this.failedMoves = new Counter({
      name: "s3_csi_mount_move_failures_total",
      help: "Attempts to move volumes to another Mountpoint Pod that did not succeed. The volumes work as before.",
      registers,
    });
    this.hangs = new Counter({
      name: "s3_csi_mount_hangs_total",
      help: "Mounts that were given up because mount-s3 neither answered nor did anything.",
      registers,
    });
    this.orphanedTargets = new Counter({
      name: "s3_csi_orphaned_targets_total",
      help: "Bind mounts of Pods that are gone, which kubelet did not unpublish and the node plugin removed.",
      registers,
    });
    this.#steps = new Histogram({
      name: "s3_csi_publish_step_seconds",
      help: "What a publish waited for: attachment, pod (scheduled to this node), credentials (also from STS), mounter (listens), mount (mount-s3 answers), bind.",
      labelNames: ["step"],
      buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60],
      registers,
    });
    declareMeasured(registry, {
      name: "s3_csi_publishes_waiting",
      help: "Publishes and heals that wait now, by the step for which they wait.",
      labels: ["step"],
      read: byLabel("step", () => this.#waiting),
    });
  }

  /** Settles like the work, and measures how long that took. */
  async step<Result>(step: PublishStep, work: Promise<Result>): Promise<Result> {
    const end = this.#steps.startTimer({ step });
    this.#waiting[step] += 1;
    try {
      return await work;
    } finally {
      this.#waiting[step] -= 1;
      end();
    }
  }

  /** Counts the sources of the node, and dead mounts, at every scrape. */
  measureSources(registry: MeasuredSources): void {
    declareMeasured(this.#registry, {
      name: "s3_csi_mounts",
      help: "Sources of the node, by health.",
      labels: ["health"],
      read: byLabel("health", () => {
        const counts = { absent: 0, starting: 0, serving: 0, dead: 0, hung: 0, stuck: 0 };
        for (const condition of registry.conditions) counts[condition] += 1;
        return counts;
      }),
    });
    declareMeasured(this.#registry, {
      name: "s3_csi_dead_mounts",
      help: "Mounts whose mount-s3 has ended and which workloads do not have back yet.",
      labels: [],
      read: single(() => registry.dead.size),
    });
  }
}

interface MeasuredSources {
  readonly conditions: readonly SourceCondition[];
  readonly dead: { readonly size: number };
}
