import { Histogram, type Registry } from "prom-client";
import { declareMeasured } from "./measured.ts";

/** The part of a work queue that is measured. */
interface MeasuredQueue {
  readonly figures: { readonly depth: number; readonly oldestMs: number; readonly failing: number };
}

interface Attempt {
  readonly result: string;
  readonly seconds: number;
}

/** The work queues of a program and the attempts of their workers. */
export class QueueMetrics {
  readonly #queues = new Map<string, MeasuredQueue>();
  readonly #seconds: Histogram<"queue" | "result">;

  constructor(registry: Registry) {
    this.#declare(registry, "s3_csi_queue_depth", "Keys that wait for a worker.", ({ depth }) => depth);
    this.#declare(
      registry,
      "s3_csi_queue_oldest_seconds",
      "For how long the first key of the queue has waited for a worker.",
      ({ oldestMs }) => oldestMs / 1000,
    );
    this.#declare(registry, "s3_csi_queue_failing", "Keys whose last attempt failed.", ({ failing }) => failing);
    this.#seconds = new Histogram({
      name: "s3_csi_reconcile_seconds",
      help: "Attempts of the workers, by result: done, again (more to do later), failed (repeated), refused (until the object changes).",
      labelNames: ["queue", "result"],
      buckets: [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60],
      registers: [registry],
    });
  }

  /** Measures the queue until the result is disposed of. */
  follow(queue: string, measured: MeasuredQueue): Disposable {
    this.#queues.set(queue, measured);
    return { [Symbol.dispose]: () => this.#queues.delete(queue) };
  }

  /** For the workers of a queue. */
  attemptsOf(queue: string): (attempt: Attempt) => void {
    return ({ result, seconds }) => this.#seconds.observe({ queue, result }, seconds);
  }

  #declare(registry: Registry, name: string, help: string, value: (figures: MeasuredQueue["figures"]) => number): void {
    const read = () => Array.from(this.#queues, ([queue, { figures }]) => [{ queue }, value(figures)] as const);
    declareMeasured(registry, { name, help, labels: ["queue"], read });
  }
}
