/** Pure: what mount-s3 reports of a volume, as series of a bounded number. */
import type { OtlpPoint } from "../../metrics/otlp.ts";
import { escapedLabel } from "../../metrics/text-format.ts";

/** mount-s3 has about 20 metrics with a few attributes. More would be another program, or a mistake. */
const mostPoints = 500;
/** The longest name of an operation of S3 has half of that. */
const longestAttribute = 64;

/** The latest figures of one mount-s3. Series are made when an export arrives, so that a scrape only has to write them. */
export class VolumeFigures {
  readonly #points = new Map<string, OtlpPoint>();
  #series: ReadonlyMap<FigureName, readonly FigureSeries[]> = new Map();

  /**
   * Adds an export. Nothing in it is trusted: only known metrics, known attributes and sensible values are kept, and a bounded number. A
   * mount-s3 that was started again begins at zero, as counters of Prometheus may.
   */
  add(exported: readonly OtlpPoint[]): void {
    const points = exported.slice(0, 10 * mostPoints).flatMap((point) => accepted(point) ?? []);
    if (points.some((point) => this.#isOfAnotherProcess(point))) this.#points.clear();
    for (const point of points) {
      const key = keyOf(point);
      const before = this.#points.get(key);
      if (before === undefined && this.#points.size >= mostPoints) continue;
      this.#points.set(key, isSum(point) && before !== undefined ? sumOf(before, point) : point);
    }
    this.#series = Map.groupBy(seriesOf([...this.#points.values()]), ({ name }) => name);
  }

  /** The series of one metric. */
  named(name: FigureName): readonly FigureSeries[] {
    return this.#series.get(name) ?? [];
  }

  #isOfAnotherProcess(point: OtlpPoint): boolean {
    const before = point.temporality === "cumulative" ? this.#points.get(keyOf(point)) : undefined;
    return before !== undefined && point.startNs > before.startNs;
  }
}

/** The point with the attributes that are used; undefined for a metric that is not used, and for a value that cannot be. */
function accepted(point: OtlpPoint): OtlpPoint | undefined {
  if (!Object.hasOwn(conversions, point.name) || !isSensible(point.value) || !isSensible(point.count)) return undefined;
  const used = usedAttributes.flatMap((name) => {
    const value = Object.hasOwn(point.attributes, name) ? point.attributes[name] : undefined;
    return value === undefined ? [] : [[name, value.slice(0, longestAttribute)] as const];
  });
  return { ...point, attributes: Object.fromEntries(used) };
}

function isSensible(value: number): boolean {
  return Number.isFinite(value) && value >= 0;
}

/** `cache` keeps the two caches apart that a volume may have: their figures are added, and one must not replace the other. */
const usedAttributes = ["s3_request", "http_status", "fuse_request", "cache"];

function keyOf({ name, attributes }: OtlpPoint): string {
  return JSON.stringify([name, ...usedAttributes.map((attribute) => attributes[attribute] ?? "")]);
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
  /** In the text format of Prometheus, each with a comma before it. */
  readonly labels: string;
  readonly value: number;
}

/**
 * The metrics of a volume, without their prefix `s3_csi_volume_`, and at most how many series of each a volume has: 38 together. Those that
 * came first stay, so that a series does not come and go.
 */
export const figures = {
  s3_requests_total: { kind: "counter", most: 8, help: "Requests of mount-s3 to the object store, by operation." },
  s3_request_seconds_total: {
    kind: "counter",
    most: 8,
    help: "Time that requests of mount-s3 to the object store took, by operation.",
  },
  s3_errors_total: {
    kind: "counter",
    most: 8,
    help: "Requests of mount-s3 that the object store refused, by operation and HTTP status.",
  },
  bytes_total: { kind: "counter", most: 2, help: "Bytes that workloads read and wrote." },
  file_requests_total: {
    kind: "counter",
    most: 3,
    help: "Requests of the kernel to mount-s3: read, write, or metadata (everything else).",
  },
  file_request_seconds_total: { kind: "counter", most: 3, help: "Time that requests of the kernel to mount-s3 took." },
  file_errors_total: {
    kind: "counter",
    most: 3,
    help: "Requests of the kernel that mount-s3 answered with an error, as for a file that does not exist.",
  },
  cache_lookups_total: { kind: "counter", most: 1, help: "Blocks that mount-s3 looked up in its data cache." },
  cache_hits_total: {
    kind: "counter",
    most: 1,
    help: "Reads of workloads that mount-s3 answered from its data cache alone.",
  },
  memory_bytes: { kind: "gauge", most: 1, help: "Memory of mount-s3." },
} as const satisfies Record<
  string,
  { readonly kind: "counter" | "gauge"; readonly most: number; readonly help: string }
>;

const microseconds = 1e-6;

/** Name of mount-s3 → series. The kernel's operations are many, so all but read and write are one. */
const conversions: Readonly<Record<string, (point: OtlpPoint) => readonly FigureSeries[]>> = {
  "s3.request_count": (point) => [series("s3_requests_total", ofStore(point), point.value)],
  "s3.request_total_latency": (point) => [
    series("s3_request_seconds_total", ofStore(point), point.value * microseconds),
  ],
  "s3.request_errors": (point) => [
    series("s3_errors_total", { ...ofStore(point), code: statusOf(point) }, point.value),
  ],
  "fuse.io_size": (point) => [series("bytes_total", ofKernel(point), point.value)],
  "fuse.request_latency": (point) => [
    series("file_requests_total", ofKernel(point), point.count),
    series("file_request_seconds_total", ofKernel(point), point.value * microseconds),
  ],
  "fuse.request_errors": (point) => [series("file_errors_total", ofKernel(point), point.value)],
  // mount-s3 calls these experimental: without them, the volume has no figures of its cache.
  "experimental.cache.get_latency": (point) => [series("cache_lookups_total", {}, point.count)],
  "experimental.fuse.cache_hit": (point) => [series("cache_hits_total", {}, point.value)],
  "process.memory_usage": (point) => [series("memory_bytes", {}, point.value)],
};

function series(name: FigureName, labels: Readonly<Record<string, string>>, value: number): FigureSeries {
  const text = Object.entries(labels).map(([label, of]) => `,${label}="${escapedLabel(of)}"`);
  return { name, labels: text.join(""), value };
}

function ofStore({ attributes }: OtlpPoint) {
  return { operation: attributes["s3_request"] ?? "" };
}

/** mount-s3 says -1 for a request without an answer. */
function statusOf({ attributes: { http_status: status = "" } }: OtlpPoint): string {
  return status === "-1" ? "none" : status;
}

function ofKernel({ attributes }: OtlpPoint) {
  const { fuse_request: request = "" } = attributes;
  return { operation: request === "read" || request === "write" ? request : "metadata" };
}

/** Series of the same name and labels are added. */
function seriesOf(points: readonly OtlpPoint[]): readonly FigureSeries[] {
  const found = new Map<string, FigureSeries>();
  const counts = new Map<FigureName, number>();
  for (const each of points.flatMap((point) => conversions[point.name]?.(point) ?? [])) {
    const key = `${each.name}${each.labels}`;
    const before = found.get(key);
    const count = counts.get(each.name) ?? 0;
    if (before === undefined && count >= figures[each.name].most) continue;
    if (before === undefined) counts.set(each.name, count + 1);
    found.set(key, { ...each, value: each.value + (before?.value ?? 0) });
  }
  return [...found.values()];
}
