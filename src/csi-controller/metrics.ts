import { Counter, Registry } from "prom-client";

/** Prometheus metrics of the CSI controller service. */
export class CsiControllerMetrics {
  readonly #registry = new Registry();
  /** The bucket is not a label, because every volume would add a time series. Events and the tag `kept` of the bucket name it. */
  readonly keptBuckets = new Counter({
    name: "s3_csi_kept_buckets_total",
    help: "Deleted volumes whose data was kept, by reason (notEmpty: the bucket or prefix held data; policy: deletePolicy is retain).",
    labelNames: ["because"],
    registers: [this.#registry],
  });

  readonly text = (): Promise<string> => this.#registry.metrics();
}
