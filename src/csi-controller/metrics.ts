import { Counter, Registry } from "prom-client";

/** What the CSI controller service counts, for Prometheus. */
export class CsiControllerMetrics {
  readonly #registry = new Registry();
  /** Without the bucket as a label, which would have a new value for every volume: events and the bucket's tag `kept` name it. */
  readonly keptBuckets = new Counter({
    name: "s3_csi_kept_buckets_total",
    help: "Deleted volumes whose data was kept, by reason (notEmpty: it held some; policy: deletePolicy is retain).",
    labelNames: ["because"],
    registers: [this.#registry],
  });

  readonly text = (): Promise<string> => this.#registry.metrics();
}
