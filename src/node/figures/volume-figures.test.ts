import { expect, it } from "vitest";
import type { OtlpPoint } from "../../metrics/otlp.ts";
import { mostSeries, VolumeFigures } from "./volume-figures.ts";

function point(name: string, more: Partial<OtlpPoint> = {}): OtlpPoint {
  return { name, kind: "sum", temporality: "cumulative", attributes: {}, value: 0, count: 0, ...more };
}

function seriesOf(figures: VolumeFigures): Readonly<Record<string, number>> {
  const labelled = figures.series.map(({ name, operation, code, value }) => [
    `${name} ${operation} ${code}`.trim(),
    value,
  ]);
  return Object.fromEntries(labelled) as Record<string, number>;
}

const latency = (request: string, value: number, count: number) =>
  point("fuse.request_latency", { kind: "histogram", attributes: { fuse_request: request }, value, count });

it("has seconds instead of microseconds, and one series for all operations that only concern metadata", () => {
  const figures = new VolumeFigures();
  figures.add([
    latency("read", 2_000_000, 4),
    latency("lookup", 500_000, 2),
    latency("readdirplus", 250_000, 1),
    point("fuse.io_size", { kind: "histogram", attributes: { fuse_request: "read" }, value: 8192, count: 4 }),
    point("s3.request_count", { attributes: { s3_request: "GetObject" }, value: 3 }),
    point("s3.request_total_latency", { kind: "histogram", attributes: { s3_request: "GetObject" }, value: 1_500_000 }),
    point("s3.request_errors", { attributes: { s3_request: "HeadObject", http_status: "404" }, value: 5 }),
    point("process.memory_usage", { kind: "gauge", value: 1e7 }),
    point("experimental.prefetch.reset_state", { value: 1 }),
  ]);
  expect(seriesOf(figures)).toEqual({
    "file_requests_total read": 4,
    "file_request_seconds_total read": 2,
    "file_requests_total metadata": 3,
    "file_request_seconds_total metadata": 0.75,
    "bytes_total read": 8192,
    "s3_requests_total GetObject": 3,
    "s3_request_seconds_total GetObject": 1.5,
    "s3_errors_total HeadObject 404": 5,
    memory_bytes: 1e7,
  });
});

it.for<[OtlpPoint["temporality"], number]>([
  ["cumulative", 5],
  ["delta", 8],
])("of exports that are %s, 3 and then 5 requests are %d", ([temporality, expected]) => {
  const figures = new VolumeFigures();
  for (const value of [3, 5]) figures.add([point("s3.request_count", { temporality, value })]);
  expect(seriesOf(figures)).toEqual({ s3_requests_total: expected });
});

it("a gauge is what was exported last", () => {
  const figures = new VolumeFigures();
  for (const value of [3, 2])
    figures.add([point("process.memory_usage", { kind: "gauge", temporality: "delta", value })]);
  expect(seriesOf(figures)).toEqual({ memory_bytes: 2 });
});

it("keeps a bounded number of series and points, whatever is exported", () => {
  const figures = new VolumeFigures();
  const many = Array.from({ length: 100_000 }, (_, index) =>
    point("s3.request_count", { attributes: { s3_request: `Operation${index}` }, value: index }),
  );
  figures.add(many);
  expect(figures.series.length).toBe(mostSeries);
  expect(figures.series[0]?.operation).toBe("Operation499");
});
