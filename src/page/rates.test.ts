import { expect, it } from "vitest";
import { type Rates, RateWindow, totalsIn } from "./rates.ts";

const labels = (pod: string, more: string) =>
  `node="n1",namespace="shop",persistentvolumeclaim="c",persistentvolume="v",mountpoint_pod="${pod}",${more}`;

const text = [
  "# HELP s3_csi_volume_bytes_total bytes",
  `s3_csi_volume_bytes_total{${labels("mp-a", 'operation="read"')}} 1000`,
  `s3_csi_volume_bytes_total{${labels("mp-a", 'operation="write"')}} 2e+3`,
  `s3_csi_volume_s3_requests_total{${labels("mp-a", 'operation="GetObject"')}} 7`,
  `s3_csi_volume_s3_requests_total{${labels("mp-a", 'operation="PutObject"')}} 3`,
  `s3_csi_volume_s3_errors_total{${labels("mp-a", 'operation="HeadObject",code="404"')}} 1`,
  `s3_csi_volume_s3_requests_total{${labels("mp-b", 'operation="GetObject"')}} 5`,
  `s3_csi_volume_s3_requests_total{${labels("../x", 'operation="GetObject"')}} 5`,
  `s3_csi_volume_memory_bytes{${labels("mp-a", "")}} 5`,
  "s3_csi_volume_s3_requests_total{broken",
  "",
].join("\n");

it("adds up what one node plugin counted, by Mountpoint Pod", () => {
  expect([...totalsIn(text)]).toEqual([
    ["mp-a", { readBytes: 1000, writtenBytes: 2000, requests: 10, errors: 1 }],
    ["mp-b", { readBytes: 0, writtenBytes: 0, requests: 5, errors: 0 }],
  ]);
  expect(totalsIn("<html>").size).toBe(0);
});

function totals(pod: string, readBytes: number): ReadonlyMap<string, Rates> {
  return new Map([[pod, { readBytes, writtenBytes: 0, requests: readBytes / 100, errors: 0 }]]);
}

it("a rate needs two samples, and is that of the last minute", () => {
  const window = new RateWindow();
  expect(window.add({ atMs: 0, totals: totals("a", 1000) })).toEqual({});
  expect(window.add({ atMs: 10_000, totals: totals("a", 3000) })).toEqual({
    a: { readBytes: 200, writtenBytes: 0, requests: 2, errors: 0 },
  });
  window.add({ atMs: 60_000, totals: totals("a", 3000) });
  // The sample at 0 is too old.
  expect(window.add({ atMs: 70_000, totals: totals("a", 3000) })["a"]?.readBytes).toBe(0);
});

it("a mount-s3 that began again at zero has no rate until it was counted twice, and one that is gone has none", () => {
  const window = new RateWindow();
  window.add({ atMs: 0, totals: totals("a", 5000) });
  expect(window.add({ atMs: 10_000, totals: totals("a", 100) })).toEqual({});
  expect(window.add({ atMs: 20_000, totals: totals("a", 200) })["a"]?.readBytes).toBe(10);
  expect(window.add({ atMs: 30_000, totals: new Map() })).toEqual({});
});
