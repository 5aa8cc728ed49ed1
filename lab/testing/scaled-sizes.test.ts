import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { checkout } from "../images.ts";
import { scaledSizes } from "./scaled-sizes.ts";

it("every size that ./dev test keeps small is printed", () => {
  const sources = globSync("test/**/*.test.ts", { cwd: checkout }).map((file) =>
    readFileSync(join(checkout, file), "utf8"),
  );
  const calls = sources.flatMap((source) => source.match(/\bscaled\(/g) ?? []);
  expect(calls.length).toBeGreaterThan(10);
  expect(scaledSizes()).toHaveLength(calls.length);
  expect(scaledSizes()).toContain("test/node/heal-everywhere.test.ts: workloads that share the mount: 3 (long: 20)");
});

it("nothing else in a test looks at the scale", () => {
  const files = globSync("test/**/*.ts", { cwd: checkout }).filter((file) => file !== "test/support/scale.ts");
  expect(files.filter((file) => readFileSync(join(checkout, file), "utf8").includes("TEST_SCALE"))).toEqual([]);
});
