/**
 * The chart, line by line: golden/NAME.yaml is what Helm makes of golden/NAME.values.yaml. A change of the chart shows there
 * what it does to the objects; `npm run golden` writes them anew.
 */
import { join } from "node:path";
import { expect, it } from "vitest";
import { goldenDirectory, goldenSets, template, version } from "./rendered-chart.ts";

it.for(goldenSets)("golden/%s.yaml is what the chart gives with its values", async (name) => {
  const text = template(["--kube-version", "1.36.0", "--values", join(goldenDirectory, `${name}.values.yaml`)]);
  // A release changes nothing but the version.
  const unversioned = text.replaceAll(version, "VERSION");
  await expect(unversioned).toMatchFileSnapshot(join(goldenDirectory, `${name}.yaml`));
});
