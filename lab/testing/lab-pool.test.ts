import { expect, it } from "vitest";
import type { Lab } from "../lab.ts";
import type { Progress } from "../progress.ts";
import { type LabPool, runInLabs, type StartLab } from "./lab-pool.ts";
import type { VitestRun } from "./vitest.ts";

const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };
const { signal } = new AbortController();

/** Notes what ran in which lab. */
function poolOf(labs: readonly StartLab[], files: readonly string[]) {
  const ran: string[] = [];
  const run = async (_signal: AbortSignal, { lab, project, args = [] }: VitestRun) => {
    await Promise.resolve();
    ran.push([lab?.spec.name, ...args, ...(args.length === 0 ? [project] : [])].join(" "));
    return {
      outcome: { results: [{ name: args.join(), verdict: "passed", reasons: [] }], files: [] },
      output: "",
    } as const;
  };
  const pool: LabPool = { project: "node", files, labs, args: [], env: {}, lastProject: "node-end", run };
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
  expect(results).toContainEqual({ name: "a lab of the node ring", verdict: "failed", reasons: ["no room"] });
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
