import { expect, it } from "vitest";
import { exportsFigures, withExport } from "./figure-receivers.ts";

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
