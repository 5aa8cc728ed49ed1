import { Counter, Registry } from "prom-client";
import { declareMeasured, single } from "../metrics/measured.ts";
import type { Answered } from "./page-server.ts";

/** Prometheus metrics of the page in the cluster. */
export class UiMetrics {
  readonly #registry: Registry;
  readonly #requests: Counter<"what" | "code">;

  constructor(registry = new Registry()) {
    this.#registry = registry;
    this.#requests = new Counter({
      name: "s3_csi_page_requests_total",
      help: "Requests of browsers whose answer is complete, by what they asked for (feed, file) and HTTP status (none: the browser left before).",
      labelNames: ["what", "code"],
      registers: [registry],
    });
  }

  readonly answered = ({ what, code }: Answered): void => this.#requests.inc({ what, code: code ?? "none" });

  measure(server: { readonly viewers: number }): void {
    declareMeasured(this.#registry, {
      name: "s3_csi_page_viewers",
      help: "Pages that are open now.",
      labels: [],
      read: single(() => server.viewers),
    });
  }
}
