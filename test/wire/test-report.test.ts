/** What `./dev test` learns from vitest: a test that did not run, or needed two tries, must not look like one that passed. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { checkout } from "../../lab/images.ts";
import { attempt } from "../../lab/run.ts";
import type { Outcome } from "../../lab/testing/results.ts";

const config = `
import { TestReport } from "../lab/testing/report.ts";
export default { test: { retry: 1, tags: [{ name: "smoke" }], reporters: [new TestReport(process.env.TEST_REPORT)] } };
`;
const tests = `
import { beforeAll, describe, expect, it } from "vitest";
let tries = 0;
it("passes", { tags: ["smoke"] }, () => {});
it("passes at last", () => expect(++tries).toBe(2));
it("fails", () => expect("is").toBe("ought"));
it.skip("is skipped", () => {});
describe("set up badly", () => { beforeAll(() => { throw new Error("no stage"); }); it("never runs", () => {}); });
`;

async function outcomeOf(...args: readonly string[]): Promise<Outcome> {
  // Below the checkout, where the packages are found.
  const directory = mkdtempSync(join(checkout, "report-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  writeFileSync(join(directory, "vitest.config.mjs"), config);
  writeFileSync(join(directory, "some.test.mjs"), tests);
  const report = join(directory, "report.json");
  const env = { ...process.env, TEST_REPORT: report };
  const argv = [join(checkout, "node_modules/.bin/vitest"), "run", ...args];
  await attempt(argv, { signal: AbortSignal.timeout(60_000), cwd: directory, env });
  return JSON.parse(readFileSync(report, "utf8")) as Outcome;
}

it('reports a verdict for every test, and "passed" only for tests that passed', async () => {
  const { results, files } = await outcomeOf();
  expect(
    Object.fromEntries(results.map(({ name, verdict }) => [name.replace("some.test.mjs: ", ""), verdict])),
  ).toEqual({
    passes: "passed",
    "passes at last": "passed on the second try only",
    fails: "failed",
    "is skipped": "skipped",
    "set up badly > never runs": "skipped",
    "set-up": "failed",
  });
  expect(results.find(({ name }) => name.endsWith(": fails"))?.reasons[0]).toContain("expected 'is' to be 'ought'");
  expect(files).toMatchObject([{ file: "some.test.mjs" }]);
});

it.for([
  ["by tag", "--tags-filter=smoke"],
  ["by name", "--testNamePattern=^passes$"],
] as const)("tests that were not asked for have no verdict: %s", async ([, filter]) => {
  const { results } = await outcomeOf(filter);
  expect(results.map(({ name, verdict }) => [name, verdict])).toEqual([["some.test.mjs: passes", "passed"]]);
});
