import { expect, it } from "vitest";
import type { Lab } from "../lab.ts";
import type { Progress } from "../progress.ts";
import { type LabPool, runInLabs, type StartLab } from "./lab-pool.ts";
import type { VitestRun } from "./vitest.ts";

const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };
const { signal } = new AbortController();

/** Notes what ran in which lab. */
function poolOf(labs: readonly StartLab[], names: readonly string[]) {
  const ran: string[] = [];
  const run = async (_signal: AbortSignal, { lab, project, args = [] }: VitestRun) => {
    await Promise.resolve();
    ran.push([lab?.spec.name, ...args, ...(args.length === 0 ? [project] : [])].join(" "));
    if (args[0] === "crashes") throw new Error("no such lab");
    const passed = { name: args.join(), verdict: "passed", reasons: [] } as const;
    return { outcome: { results: args[0] === "empty" ? [] : [passed], files: [] }, output: "" };
  };
  const files = names.map((file) => ({ file, env: {} }));
  const pool: LabPool = { project: "node", files, labs, args: [], lastProject: "node-end", run };
  return { pool, ran };
}

function startsAs(name: string, stopped: string[] = []): StartLab {
  const lab = { spec: { name }, layout: { cgroups: `no-such-${name}` }, componentNames: () => [] } as unknown as Lab;
  return async () => ({ lab, [Symbol.asyncDispose]: async () => void stopped.push(name) });
}

const failsToStart: StartLab = () => Promise.reject(new Error("no room"));

it("labs share the files, each looks at what is left at its end, and each ends", async () => {
  const stopped: string[] = [];
  const { pool, ran } = poolOf([startsAs("a", stopped), startsAs("b", stopped)], ["1", "2", "3"]);
  const { results } = await runInLabs(signal, quiet, pool);
  expect(ran.map((line) => `${line.split(" ")[1]}`).toSorted()).toEqual(["1", "2", "3", "node-end", "node-end"]);
  expect(results.map(({ verdict }) => verdict)).toEqual(Array.from({ length: 5 }, () => "passed"));
  expect(stopped.toSorted()).toEqual(["a", "b"]);
});

it("a lab that does not start is a failure, and the other runs its files", async () => {
  const { pool, ran } = poolOf([failsToStart, startsAs("b")], ["1", "2"]);
  const { results } = await runInLabs(signal, quiet, pool);
  expect(ran).toEqual(["b 1", "b 2", "b node-end"]);
  expect(results).toContainEqual({
    name: "a lab of the node ring",
    verdict: "failed",
    reasons: ["broke at its start: no room"],
  });
});

it("files that no lab was left for are failures, and not forgotten", async () => {
  const { pool } = poolOf([failsToStart], ["1", "2"]);
  const { results } = await runInLabs(signal, quiet, pool);
  expect(results.filter(({ verdict }) => verdict === "failed").map(({ name }) => name)).toEqual([
    "a lab of the node ring",
    "1",
    "2",
  ]);
});

it("there are no more labs than files", async () => {
  const { pool, ran } = poolOf([startsAs("a"), failsToStart], ["1"]);
  await runInLabs(signal, quiet, pool);
  expect(ran).toEqual(["a 1", "a node-end"]);
});

it("what a lab has found before it breaks counts, and the file at which it broke is named", async () => {
  const { pool } = poolOf([startsAs("a")], ["1", "crashes", "2"]);
  const { results } = await runInLabs(signal, quiet, pool);
  expect(results.map(({ name, verdict }) => [name, verdict])).toEqual([
    ["1", "passed"],
    ["a lab of the node ring", "failed"],
    ["2", "failed"],
  ]);
  expect(results[1]?.reasons).toEqual(["broke at crashes: no such lab"]);
});

it("a file of which no test ran is a failure, unless tests were chosen by name", async () => {
  const { pool } = poolOf([startsAs("a")], ["empty"]);
  const failed = await runInLabs(signal, quiet, pool);
  expect(failed.results).toContainEqual({ name: "empty", verdict: "failed", reasons: ["no test of it ran"] });
  const byName = { ...pool, files: pool.files.map(({ file, env }) => ({ file, env, mayBeEmpty: true })) };
  const fine = await runInLabs(signal, quiet, byName);
  expect(fine.results.map(({ verdict }) => verdict)).toEqual(["passed"]);
});

it("a helper takes files from the moment when it may start, and looks at what is left at its end, too", async () => {
  const stopped: string[] = [];
  const { pool, ran } = poolOf([startsAs("a", stopped)], ["1", "2", "3", "4", "5", "6", "7", "8"]);
  const helper = { start: startsAs("helper", stopped), when: Promise.resolve() };
  const { results } = await runInLabs(signal, quiet, { ...pool, helper });
  expect(ran.filter((line) => line.startsWith("helper ")).length).toBeGreaterThan(1);
  expect(ran).toContain("helper node-end");
  expect(results).toHaveLength(10);
  expect(stopped.toSorted()).toEqual(["a", "helper"]);
});

it("a helper does not start for a few files", async () => {
  const { pool, ran } = poolOf([startsAs("a")], ["1", "2", "3"]);
  const helper = { start: startsAs("helper"), when: Promise.resolve() };
  await runInLabs(signal, quiet, { ...pool, helper });
  expect(ran.filter((line) => line.startsWith("helper"))).toEqual([]);
});
