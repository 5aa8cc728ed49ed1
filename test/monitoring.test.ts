/** Metrics, rules, dashboard and documents speak of the same things. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { dashboard, dashboardFile, queries } from "../scripts/dashboard.ts";
import { declaredMetrics } from "./support/declared-metrics.ts";

const checkout = dirname(import.meta.dirname);
const read = (path: string) => readFileSync(join(checkout, path), "utf8");

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly annotations?: { readonly runbook: string };
}

const { groups } = parse(read("charts/scality-mountpoint-s3-csi-driver/monitoring/rules.yaml")) as {
  readonly groups: readonly { readonly rules: readonly Rule[] }[];
};
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(({ alert }) => alert !== undefined);

/** Names of series, those of histograms with their suffixes. */
const series = new Set(
  declaredMetrics().flatMap(({ name, type }) =>
    type === "histogram" ? ["_bucket", "_sum", "_count"].map((suffix) => `${name}${suffix}`) : [name],
  ),
);

it("the documented metrics are those that the programs declare, with their types", () => {
  const rows = read("docs/reference/metrics.md").matchAll(/^\| `([a-z0-9_]+)` \| (\w+) \|/gm);
  const documented = [...rows].map(([, name = "", type = ""]) => ({ name, type }));
  expect(documented.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual(declaredMetrics());
});

it("the dashboard in the chart is that of scripts/dashboard.ts: npm run dashboard", () => {
  expect(readFileSync(dashboardFile, "utf8")).toBe(dashboard());
});

it.for([...rules.map(({ expr }) => expr), ...queries])("%s asks for series that exist", (expr) => {
  const records = new Set(rules.flatMap(({ record }) => record ?? []));
  const asked = expr.match(/\b(s3_csi|process)[a-z0-9_:]+/g) ?? [];
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.filter((name) => !series.has(name) && !records.has(name))).toEqual([]);
});

it("every alert has a section in the guide, and leads there", () => {
  const sections = [...read("docs/guides/alerts.md").matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  expect(alerts.map(({ alert }) => alert)).toEqual(sections);
  for (const { alert, annotations } of alerts) {
    expect(annotations?.runbook).toBe(`docs/guides/alerts.md#${alert?.toLowerCase()}`);
  }
});
