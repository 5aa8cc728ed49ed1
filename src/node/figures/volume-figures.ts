/** Pure: what mount-s3 reports of a volume, as series of a bounded number. */
import type { OtlpPoint } from "../../metrics/otlp.ts";

/** mount-s3 has about 20 metrics with a few attributes. More would be another program, or a mistake. */
const mostPoints = 500;

/** The latest figures of one mount-s3. */
export class VolumeFigures {
  readonly #points = new Map<string, OtlpPoint>();

  /** Adds an export. Exports of a mount-s3 that was started again begin at zero, as counters of Prometheus may. */
  add(points: readonly OtlpPoint[]): void {
    for (const point of points) {
      const key = keyOf(point);
      const before = this.#points.get(key);
      if (before === undefined && this.#points.size >= mostPoints) continue;
      this.#points.set(key, isSum(point) && before !== undefined ? sumOf(before, point) : point);
    }
  }

  get series(): readonly FigureSeries[] {
    return seriesOf([...this.#points.values()]);
  }
}

function keyOf({ name, attributes }: OtlpPoint): string {
  return JSON.stringify([name, Object.entries(attributes).toSorted(([a], [b]) => a.localeCompare(b))]);
}

function isSum({ kind, temporality }: OtlpPoint): boolean {
  return kind !== "gauge" && temporality === "delta";
}

function sumOf(before: OtlpPoint, point: OtlpPoint): OtlpPoint {
  return { ...point, value: before.value + point.value, count: before.count + point.count };
}

export type FigureName = keyof typeof figures;

export interface FigureSeries {
  readonly name: FigureName;
  readonly operation: string;
  /** The HTTP status of errors of the store; else empty. */
  readonly code: string;
  readonly value: number;
}

/** The metrics of a volume, without their prefix `s3_csi_volume_`, and their labels. */
export const figures = {
  s3_requests_total: {
    kind: "counter",
    by: ["operation"],
    help: "Requests of mount-s3 to the object store, by operation.",
  },
  s3_request_seconds_total: {
    kind: "counter",
    by: ["operation"],
    help: "Time that requests of mount-s3 to the object store took, by operation.",
  },
  s3_errors_total: {
    kind: "counter",
    by: ["operation", "code"],
    help: "Requests of mount-s3 that the object store refused, by operation and HTTP status.",
  },
  bytes_total: {
    kind: "counter",
    by: ["operation"],
    help: "Bytes that workloads read and wrote.",
  },
  file_requests_total: {
    kind: "counter",
    by: ["operation"],
    help: "Requests of the kernel to mount-s3: read, write, or metadata (everything else).",
  },
  file_request_seconds_total: {
    kind: "counter",
    by: ["operation"],
    help: "Time that requests of the kernel to mount-s3 took.",
  },
  file_errors_total: {
    kind: "counter",
    by: ["operation"],
    help: "Requests of the kernel that mount-s3 answered with an error, as for a file that does not exist.",
  },
  memory_bytes: { kind: "gauge", by: [], help: "Memory of mount-s3." },
} as const satisfies Record<string, Figure>;

interface Figure {
  readonly kind: "counter" | "gauge";
  readonly by: readonly ("operation" | "code")[];
  readonly help: string;
}

/** At most so many series per volume. Those of the most frequent operations stay. */
export const mostSeries = 40;

const microseconds = 1e-6;

/** Name of mount-s3 → series. The kernel's operations are many, so all but read and write are one. */
const conversions: Readonly<Record<string, (point: OtlpPoint) => readonly FigureSeries[]>> = {
  "s3.request_count": (point) => [series("s3_requests_total", point.attributes["s3_request"], point.value)],
  "s3.request_total_latency": (point) => [
    series("s3_request_seconds_total", point.attributes["s3_request"], point.value * microseconds),
  ],
  "s3.request_errors": ({ attributes, value }) => [
    { ...series("s3_errors_total", attributes["s3_request"], value), code: attributes["http_status"] ?? "" },
  ],
  "fuse.io_size": (point) => [series("bytes_total", point.attributes["fuse_request"], point.value)],
  "fuse.request_latency": (point) => [
    series("file_requests_total", kindOf(point), point.count),
    series("file_request_seconds_total", kindOf(point), point.value * microseconds),
  ],
  "fuse.request_errors": (point) => [series("file_errors_total", kindOf(point), point.value)],
  "process.memory_usage": (point) => [series("memory_bytes", "", point.value)],
};

function series(name: FigureName, operation = "", value: number): FigureSeries {
  return { name, operation, code: "", value };
}

function kindOf({ attributes }: OtlpPoint): string {
  const { fuse_request: request = "" } = attributes;
  return request === "read" || request === "write" ? request : "metadata";
}

/** Series of the same name and labels are added. */
function seriesOf(points: readonly OtlpPoint[]): readonly FigureSeries[] {
  const found = new Map<string, FigureSeries>();
  for (const each of points.flatMap((point) => conversions[point.name]?.(point) ?? [])) {
    const key = `${each.name} ${each.operation} ${each.code}`;
    found.set(key, { ...each, value: each.value + (found.get(key)?.value ?? 0) });
  }
  const all = [...found.values()];
  if (all.length <= mostSeries) return all;
  return all.toSorted((a, b) => b.value - a.value).slice(0, mostSeries);
}
