import { Counter, Registry } from "prom-client";

/** Prometheus metrics of the CSI controller service. */
export class CsiControllerMetrics {
  /** The bucket is not a label, because every volume would add a time series. Events and the tag `kept` of the bucket name it. */
  readonly keptBuckets: Counter<"because">;

  constructor(registry = new Registry()) {
    this.keptBuckets = new Counter({
      name: "s3_csi_kept_buckets_total",
      help: "Deleted volumes whose data was kept, by reason (notEmpty: the bucket or prefix held data; policy: deletePolicy is retain).",
      labelNames: ["because"],
      registers: [registry],
    });
    // A counter that begins with its first event has no increase.
    for (const because of ["notEmpty", "policy"]) this.keptBuckets.inc({ because }, 0);
  }
}
