/** The YAML of the documentation, as it is written: the API server takes its objects, the chart its values. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parse } from "yaml";
import { driverName } from "../../src/core/names.ts";
import { chartDirectory, render, repository } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { blocksIn, documents } from "../support/doc-blocks.ts";
import { installAttachmentKind } from "../support/stage.ts";
import { tried, withVolumePolicies } from "../support/volume-policies.ts";

const cluster = openCluster();
const blocks = documents().flatMap(blocksIn);
type Tree = Readonly<Record<string, unknown>>;
const values = parse(readFileSync(join(chartDirectory, "values.yaml"), "utf8")) as Tree;
let policies: AsyncDisposable;

beforeAll(async () => {
  await installAttachmentKind(cluster);
  policies = await withVolumePolicies(cluster);
});

afterAll(async () => {
  await policies[Symbol.asyncDispose]();
});

type Row = readonly [at: string, text: string];

it.for(marked("objects"))("OP-8 the API server takes %s, every field of it, without a warning", async ([, text]) => {
  expect(await tried(cluster, text)).toBe("accepted");
});

it.for(marked("values"))("OP-8 the chart takes %s and knows every value in it", ([, text]) => {
  expect(leavesIn(parse(text) as Tree).filter((path) => !isValue(path))).toEqual([]);
  const directory = mkdtempSync(join(tmpdir(), "documented-"));
  try {
    const file = join(directory, "values.yaml");
    writeFileSync(file, text);
    expect(render({}, chartDirectory, ["--values", file]).length).toBeGreaterThan(10);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

/** They are told in the words of their time; the list of values is made from the values, and names those of 2.x beside them. */
const elsewhere = /^(CHANGELOG\.md|docs\/decisions\/.*|docs\/reference\/chart-values\.md)$/;

it("OP-8 every chart value that the documentation names exists", () => {
  const current = documents().filter((file) => !elsewhere.test(file));
  const named = current.flatMap((file) => {
    const text = readFileSync(join(repository, file), "utf8");
    return [...text.matchAll(/(?:`|--set(?:-file|-string)? )((?:\w+\.)+\w+)(?=[=`])/g)].map(([, path = ""]) => path);
  });
  const ofChart = named.filter((path) => Object.hasOwn(values, path.split(".")[0] ?? "") && path !== driverName);
  expect(new Set(ofChart).size).toBeGreaterThan(20);
  expect(ofChart.filter((path) => !isValue(path))).toEqual([]);
});

function marked(said: string): readonly Row[] {
  const found = blocks.filter((block) => block.language === "yaml" && block.said === said);
  if (found.length === 0) throw new Error(`no block is marked "yaml ${said}"`);
  return found.map(({ file, line, text }) => [`${file}:${line}`, text]);
}

/** Whether the chart's own values have it. What is empty there takes anything. */
function isValue(path: string): boolean {
  let at: unknown = values;
  for (const key of path.split(".")) {
    if (at === null || (typeof at === "object" && Object.keys(at).length === 0)) return true;
    if (typeof at !== "object" || !Object.hasOwn(at, key)) return false;
    at = (at as Tree)[key];
  }
  return true;
}

function leavesIn(tree: Tree, prefix = ""): readonly string[] {
  return Object.entries(tree).flatMap(([key, value]) =>
    value !== null && typeof value === "object" && !Array.isArray(value)
      ? leavesIn(value as Tree, `${prefix}${key}.`)
      : [`${prefix}${key}`],
  );
}
