import { expect, it } from "vitest";
import { podOf } from "../../../test/support/fake-node.ts";
import { exportsFigures, mayExport, withExport } from "./export.ts";

const request = { bucketName: "b", args: ["--allow-delete", "--region=eu"], env: { AWS_REGION: "eu" } };

it("asks mount-s3 to export, with sorted arguments", () => {
  const { args, env } = withExport(request);
  expect(args).toEqual([
    "--allow-delete",
    "--otlp-endpoint=http://127.0.0.1:4318",
    "--otlp-export-interval=15",
    "--region=eu",
  ]);
  expect(env).toEqual({
    AWS_REGION: "eu",
    EXPERIMENTAL_MOUNTPOINT_OTLP_METRICS_TEMPORALITY_PREFERENCE: "cumulative",
  });
});

it("leaves a volume alone whose options export elsewhere", () => {
  const own = { ...request, args: ["--otlp-endpoint=http://collector:4318"] };
  expect(withExport(own)).toEqual(own);
});

it.for<[string, boolean]>([
  ["1.24.0", true],
  ["v1.21.0", true],
  ["1.20.9", false],
  ["2.0.0", true],
  ["", false],
  ["unknown", false],
])("mount-s3 %j exports: %j", ([version, expected]) => {
  expect(exportsFigures(version)).toBe(expected);
});

it("exports past a proxy for HTTP", () => {
  const proxied = { ...request, env: { HTTP_PROXY: "http://proxy:3128", NO_PROXY: ".cluster.local" } };
  expect(withExport(proxied).env["NO_PROXY"]).toBe(".cluster.local,127.0.0.1");
  expect(withExport({ ...request, env: { HTTP_PROXY: "http://proxy:3128" } }).env["NO_PROXY"]).toBe("127.0.0.1");
  expect(withExport({ ...request, env: { HTTPS_PROXY: "http://proxy:3128" } }).env["NO_PROXY"]).toBeUndefined();
});

it.for([
  { what: "of this version", but: {}, exports: true },
  { what: "of 2.x", but: { isLegacy: true }, exports: false },
  { what: "in the network of the host", but: { hostNetwork: true }, exports: false },
])("a Mountpoint Pod $what exports: $exports", ({ but, exports }) => {
  expect(mayExport(podOf(but))).toBe(exports);
});
