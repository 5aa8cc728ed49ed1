import { Counter, Histogram, Registry } from "prom-client";

/** Prometheus metrics of the node plugin. */
export class NodeMetrics {
  readonly #registry = new Registry();
  readonly deaths = new Counter({
    name: "s3_csi_mount_deaths_total",
    help: "Mounts whose mount-s3 ended, or was given up, while workloads used them.",
    registers: [this.#registry],
  });
  /** The histogram's count is the number of heals. */
  readonly healSeconds = new Histogram({
    name: "s3_csi_mount_heal_seconds",
    help: "How long a mount was away until the workloads that use it had it back.",
    buckets: [0.5, 1, 2, 3, 5, 10, 30, 60, 300],
    registers: [this.#registry],
  });
  readonly failedHeals = new Counter({
    name: "s3_csi_mount_heal_failures_total",
    help: "Attempts to heal a dead mount that did not succeed. Each is followed by another one, or by the end of its workloads.",
    registers: [this.#registry],
  });
  readonly refusedHeals = new Counter({
    name: "s3_csi_mount_heal_refusals_total",
    help: "Dead mounts that were left alone for safety, because their path in a container led to something else.",
    registers: [this.#registry],
  });
  readonly hangs = new Counter({
    name: "s3_csi_mount_hangs_total",
    help: "Mounts that were given up because mount-s3 neither answered nor did anything.",
    registers: [this.#registry],
  });

  readonly text = (): Promise<string> => this.#registry.metrics();
}
