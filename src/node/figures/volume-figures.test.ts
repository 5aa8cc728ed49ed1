import { expect, it } from "vitest";
import type { OtlpPoint } from "../../metrics/otlp.ts";
import { figures as all, type FigureName, VolumeFigures } from "./volume-figures.ts";

function point(name: string, more: Partial<OtlpPoint> = {}): OtlpPoint {
  return { name, kind: "sum", temporality: "cumulative", startNs: 1n, attributes: {}, value: 0, count: 0, ...more };
}

function seriesOf(figures: VolumeFigures): Readonly<Record<string, number>> {
  const names = Object.keys(all) as FigureName[];
  const found = names.flatMap((name) => figures.named(name));
  return Object.fromEntries(found.map(({ name, labels, value }) => [`${name}${labels}`, value]));
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
    'file_requests_total,operation="read"': 4,
    'file_request_seconds_total,operation="read"': 2,
    'file_requests_total,operation="metadata"': 3,
    'file_request_seconds_total,operation="metadata"': 0.75,
    'bytes_total,operation="read"': 8192,
    's3_requests_total,operation="GetObject"': 3,
    's3_request_seconds_total,operation="GetObject"': 1.5,
    's3_errors_total,operation="HeadObject",code="404"': 5,
    memory_bytes: 1e7,
  });
});

it.for<[OtlpPoint["temporality"], number]>([
  ["cumulative", 5],
  ["delta", 8],
])("of exports that are %s, 3 and then 5 requests are %d", ([temporality, expected]) => {
  const figures = new VolumeFigures();
  for (const value of [3, 5]) figures.add([point("s3.request_count", { temporality, value })]);
  expect(seriesOf(figures)).toEqual({ 's3_requests_total,operation=""': expected });
});

it("a gauge is what was exported last", () => {
  const figures = new VolumeFigures();
  for (const value of [3, 2])
    figures.add([point("process.memory_usage", { kind: "gauge", temporality: "delta", value })]);
  expect(seriesOf(figures)).toEqual({ memory_bytes: 2 });
});

const named = (index: number) => ({ s3_request: `Operation${index}`, http_status: String(index) });

it("keeps a bounded number of series, whatever is exported, and those that came first", () => {
  const figures = new VolumeFigures();
  const many = Array.from({ length: 100_000 }, (_, index) =>
    ["s3.request_count", "s3.request_total_latency", "s3.request_errors"].map((name) =>
      point(name, { attributes: named(index), value: index }),
    ),
  ).flat();
  figures.add(many);
  figures.add(many.toReversed());
  const shown = Object.keys(seriesOf(figures));
  expect(shown.length).toBe(24);
  expect(shown).toContain('s3_errors_total,operation="Operation7",code="7"');
  expect(Object.values(all).reduce((sum, { most }) => sum + most, 0)).toBeLessThanOrEqual(40);
});

it.for<[string, Partial<OtlpPoint>]>([
  ["__proto__", { value: 1 }],
  ["toString", { value: 1 }],
  ["another.metric", { value: 1 }],
  ["s3.request_count", { value: -1 }],
  ["s3.request_count", { value: Number.POSITIVE_INFINITY }],
  ["s3.request_count", { value: Number.NaN }],
])("ignores %s %j, and what comes with it is kept", ([name, more]) => {
  const figures = new VolumeFigures();
  figures.add([point(name, more), point("process.memory_usage", { kind: "gauge", value: 3 })]);
  expect(seriesOf(figures)).toEqual({ memory_bytes: 3 });
});

it("keeps no long texts and no attributes that it does not use", () => {
  const figures = new VolumeFigures();
  figures.add([point("s3.request_count", { attributes: { s3_request: "x".repeat(100_000), other: "y" }, value: 1 })]);
  expect(Object.keys(seriesOf(figures))).toEqual([`s3_requests_total,operation="${"x".repeat(64)}"`]);
});

it("begins anew when mount-s3 was started again, with the operations that it has done since", () => {
  const figures = new VolumeFigures();
  figures.add([latency("lookup", 0, 1000), latency("getattr", 0, 500)]);
  figures.add([{ ...latency("lookup", 0, 10), startNs: 2n }]);
  expect(seriesOf(figures)['file_requests_total,operation="metadata"']).toBe(10);
});

it("OP-3 has the lookups of all caches of a volume, and the reads that they answered", () => {
  const figures = new VolumeFigures();
  const lookups = (cache: string, count: number) =>
    point("experimental.cache.get_latency", { kind: "histogram", attributes: { cache }, value: 1, count });
  figures.add([lookups("disk", 7), lookups("express", 3), point("experimental.fuse.cache_hit", { value: 5 })]);
  expect(seriesOf(figures)).toEqual({ cache_lookups_total: 10, cache_hits_total: 5 });
});

it("a request without an answer has the code none", () => {
  const figures = new VolumeFigures();
  const attributes = { s3_request: "GetObject", http_status: "-1" };
  figures.add([point("s3.request_errors", { attributes, value: 2 })]);
  expect(seriesOf(figures)).toEqual({ 's3_errors_total,operation="GetObject",code="none"': 2 });
});

it("escapes what is exported", () => {
  const figures = new VolumeFigures();
  figures.add([point("s3.request_count", { attributes: { s3_request: 'a"b\\c\nd' }, value: 1 })]);
  expect(figures.named("s3_requests_total")[0]?.labels).toBe(String.raw`,operation="a\"b\\c\nd"`);
});
