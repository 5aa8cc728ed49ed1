import { Counter, Gauge, type Registry } from "prom-client";

export interface Measurement<Label extends string> {
  readonly name: string;
  readonly help: string;
  /** counter: a value that only grows, or begins at zero again. */
  readonly kind?: "gauge" | "counter";
  readonly labels: readonly Label[];
  /** Called at every scrape. A series that the result lacks is gone. Must not throw, nor take long: it holds the event loop. */
  readonly read: () => Iterable<readonly [labels: Readonly<Record<Label, string>>, value: number]>;
}

/** Declares a metric that is measured when it is read, instead of kept up to date. */
export function declareMeasured<Label extends string>(registry: Registry, measurement: Measurement<Label>): void {
  registry.registerMetric(measurement.kind === "counter" ? counterOf(measurement) : gaugeOf(measurement));
}

function gaugeOf<Label extends string>({ name, help, labels, read }: Measurement<Label>): Gauge<Label> {
  return new Gauge<Label>({
    name,
    help,
    labelNames: [...labels],
    registers: [],
    collect() {
      this.reset();
      for (const [of, value] of read()) this.set(of, value);
    },
  });
}

function counterOf<Label extends string>({ name, help, labels, read }: Measurement<Label>): Counter<Label> {
  return new Counter<Label>({
    name,
    help,
    labelNames: [...labels],
    registers: [],
    collect() {
      this.reset();
      for (const [of, value] of read()) this.inc(of, value);
    },
  });
}

/** For a gauge with one series. */
export function single(value: () => number): Measurement<never>["read"] {
  return () => [[{}, value()]];
}

/** For a gauge with a series for each value of one label. */
export function byLabel<Label extends string>(
  label: Label,
  values: () => Readonly<Record<string, number>>,
): Measurement<Label>["read"] {
  return () =>
    Object.entries(values()).map(([name, value]) => [{ [label]: name } as Record<Label, string>, value] as const);
}
