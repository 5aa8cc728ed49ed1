import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { reference, referenceFile } from "../scripts/chart-values.ts";

it("docs/reference/chart-values.md is what the chart says: npm run chart-values", () => {
  expect(readFileSync(referenceFile, "utf8")).toBe(reference());
});

it("every value of the chart is explained", () => {
  const rows = reference()
    .split("\n")
    .filter((line) => line.startsWith("| `"));
  expect(rows.length).toBeGreaterThan(70);
  const obvious = /\.(requests|limits)\.|seLinuxOptions\.|tolerations\b/;
  expect(rows.filter((row) => !obvious.test(row) && row.endsWith("|  |"))).toEqual([]);
});
