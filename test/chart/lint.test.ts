import { join } from "node:path";
import { expect, it } from "vitest";
import { goldenDirectory, goldenSets, lint, storedReleases, storedValues } from "./rendered-chart.ts";

it.for([
  ...goldenSets.map((name) => [name, join(goldenDirectory, `${name}.values.yaml`)] as const),
  ...storedReleases.map((release) => [release, storedValues(release)] as const),
])("helm lint --strict finds nothing with values %s", ([, file]) => {
  expect(lint(["--values", file])).toContain("0 chart(s) failed");
});
