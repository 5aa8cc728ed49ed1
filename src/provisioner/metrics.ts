import { Counter, Registry } from "prom-client";

/** What the CSI controller service counts, for Prometheus. */
export class ProvisionerMetrics {
  readonly #registry = new Registry();
  /** Nobody else remembers these buckets, so each is named. */
  readonly keptBuckets = new Counter({
    name: "s3_csi_kept_buckets_total",
    help: "Deleted volumes whose data was kept, by bucket and by reason (notEmpty: it held some; policy: deletePolicy is retain).",
    labelNames: ["bucket", "because"],
    registers: [this.#registry],
  });

  readonly text = (): Promise<string> => this.#registry.metrics();
}
