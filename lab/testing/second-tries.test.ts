import { expect, it } from "vitest";
import type { TestResult, Verdict } from "./results.ts";
import { judgeSecondTries } from "./second-tries.ts";

function result(name: string, verdict: Verdict): TestResult {
  return { name, verdict, reasons: ["because"] };
}

it("a second try is a finding once, and a failure when the run before needed it, too", () => {
  const flaky = [result("a", "passed on the second try only")];
  const first = judgeSecondTries(flaky, []);
  expect(first).toEqual({ results: flaky, remembered: ["a"] });
  const again = judgeSecondTries(flaky, first.remembered);
  expect(again.results).toEqual([
    { name: "a", verdict: "failed", reasons: ["passed on the second try only, as in the run before", "because"] },
  ]);
  expect(again.remembered).toEqual(["a"]);
});

it("a test that passes at its first try is forgiven", () => {
  expect(judgeSecondTries([result("a", "passed")], ["a"]).remembered).toEqual([]);
});

it("a run without the test changes nothing about it", () => {
  expect(judgeSecondTries([result("b", "passed")], ["a"]).remembered).toEqual(["a"]);
});

it("a test that fails is no second try, and is not forgiven either", () => {
  const failed = [result("a", "failed")];
  expect(judgeSecondTries(failed, [])).toEqual({ results: failed, remembered: [] });
  expect(judgeSecondTries(failed, ["a"])).toEqual({ results: failed, remembered: ["a"] });
});
