/** The reference of `kubectl s3` explains every finding of doctor, and every finding has a test. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { findingIds } from "../src/cli/doctor/finding-ids.ts";

const read = (file: string) => readFileSync(join(import.meta.dirname, "..", file), "utf8");

it.each(findingIds)("the reference of kubectl s3 explains %s", (id) => {
  expect(read("docs/reference/kubectl-s3.md")).toContain(`\`${id}\``);
});

/** For a problem of a Mountpoint Pod that fits none of the causes: nothing known leads to it. */
const unreachable = "mountpoint-pod-problem";

it.each(findingIds.filter((id) => id !== unreachable))("a test of doctor finds %s", (id) => {
  const tests = [
    "test/node/doctor.test.ts",
    "src/cli/doctor/diagnose.test.ts",
    "src/cli/doctor/diagnose-stores.test.ts",
  ];
  expect(tests.map(read).join("\n")).toContain(`"${id}"`);
});

it("OP-1 the manifest for krew has the version of the driver", () => {
  expect(read("scripts/krew.yaml")).toContain(`version: v${manifest.version}`);
});
