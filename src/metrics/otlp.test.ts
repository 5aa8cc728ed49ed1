import { expect, it } from "vitest";
import { otlpMessage } from "../../test/support/otlp-message.ts";
import { otlpPoints } from "./otlp.ts";

it("reads sums, gauges and both kinds of histograms, with their attributes", () => {
  const bytes = otlpMessage(
    { name: "s3.request_count", kind: "sum", points: [{ attributes: { s3_request: "GetObject" }, value: 7 }] },
    { name: "process.memory_usage", kind: "gauge", points: [{ value: 18_000_000 }] },
    {
      name: "fuse.io_size",
      kind: "exponentialHistogram",
      temporality: "delta",
      points: [
        { attributes: { fuse_request: "read" }, value: 4096.5, count: 3 },
        { attributes: { fuse_request: "write", http_status: 404 }, value: 1, count: 1 },
      ],
    },
    { name: "other", kind: "histogram", points: [{ attributes: { a: "b" }, value: 2, count: 9 }] },
  );
  expect(otlpPoints(bytes)).toEqual([
    {
      ...{ name: "s3.request_count", kind: "sum", temporality: "cumulative" },
      ...{ attributes: { s3_request: "GetObject" }, value: 7, count: 0, startNs: 0n },
    },
    {
      name: "process.memory_usage",
      kind: "gauge",
      temporality: "delta",
      attributes: {},
      value: 18_000_000,
      count: 0,
      startNs: 0n,
    },
    {
      ...{ name: "fuse.io_size", kind: "histogram", temporality: "delta" },
      ...{ attributes: { fuse_request: "read" }, value: 4096.5, count: 3, startNs: 0n },
    },
    {
      ...{ name: "fuse.io_size", kind: "histogram", temporality: "delta" },
      ...{ attributes: { fuse_request: "write", http_status: "404" }, value: 1, count: 1, startNs: 0n },
    },
    {
      name: "other",
      kind: "histogram",
      temporality: "cumulative",
      attributes: { a: "b" },
      value: 2,
      count: 9,
      startNs: 0n,
    },
  ]);
});

it("an empty export has no points", () => {
  expect(otlpPoints(new Uint8Array())).toEqual([]);
});

it("refuses bytes that are no such message", () => {
  const bytes = otlpMessage({ name: "a", kind: "gauge", points: [{ value: 1 }] });
  expect(() => otlpPoints(bytes.subarray(0, bytes.length - 3))).toThrow(/EOF|bound|invalid/);
  expect(() => otlpPoints(Buffer.from("<html>not found</html>"))).toThrow("wire type");
});
