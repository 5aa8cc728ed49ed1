import { expect, it } from "vitest";
import { checkName } from "../lab.ts";
import { abandoned, labNames } from "./lab-names.ts";

it("two runs have no lab in common, and every name is one that a lab can have", () => {
  const largestPid = 4_194_304;
  const first = labNames("cluster", 2, largestPid);
  expect(first).toEqual(["cluster-1-4194304", "cluster-2-4194304"]);
  for (const name of first) checkName(name);
  expect(labNames("cluster", 2, 4711)).not.toEqual(expect.arrayContaining([...first]));
});

it("labs of runs that have ended are abandoned, those of others and those that people named are not", () => {
  const names = ["node-1-10", "matrix-1-10", "cluster-1-10", "node-1-20", "default", "node-1"];
  expect(abandoned(names, (pid) => pid === 20)).toEqual(["node-1-10", "matrix-1-10", "cluster-1-10"]);
});
