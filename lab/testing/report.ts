/** What a run of vitest leaves for `./dev test`: the result of every test with its reasons, and the time of every file. */
import { writeFile } from "node:fs/promises";
import type { Reporter, TestCase, TestModule } from "vitest/node";
import { cpuSecondsBelow } from "../cpu-time.ts";
import { failure, type Outcome, sum, type TestResult } from "./results.ts";

/** Enough of an error to know where to look; the whole of it stands further up, where the test ran. */
const linesOfAnError = 6;

/** A skipped test counts as failed, and so does an error outside of any test. */
export class TestReport implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): Promise<void> {
    const outside = unhandled.map((error) => failure("outside of any test", firstLines(error)));
    // Shared among the files of one run: exact where a run has a single file, as in the rings that need a lab.
    const cpuSeconds = cpuSecondsBelow(process.pid) / Math.max(1, modules.length);
    const outcomes = modules.map((module) => outcomeOf(module, cpuSeconds));
    await writeFile(this.#file, JSON.stringify(sum([...outcomes, ...outside])));
  }
}

function outcomeOf(module: TestModule, testCpuSeconds: number): Outcome {
  const file = module.relativeModuleId;
  const setUps = [module, ...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map((error) => failure(`${file}: set-up`, firstLines(error))),
  );
  const { environmentSetupDuration, prepareDuration, collectDuration, setupDuration, duration } = module.diagnostic();
  const milliseconds = environmentSetupDuration + prepareDuration + collectDuration + setupDuration + duration;
  const results = [...module.children.allTests()].filter(isAskedFor).map((test) => resultOf(file, test));
  return sum([
    { results, files: [{ file, seconds: milliseconds / 1000, testCpuSeconds, labCpuSeconds: 0 }] },
    ...setUps,
  ]);
}

/** Tests that the run was told to leave out by name or tag have no result. */
function isAskedFor(test: TestCase): boolean {
  const { testNamePattern, tagsFilter } = test.project.globalConfig;
  if (testNamePattern !== undefined && !testNamePattern.test(test.fullName.replaceAll(" > ", " "))) return false;
  return tagsFilter === undefined || tagsFilter.some((tag) => test.options.tags?.includes(tag));
}

function resultOf(file: string, test: TestCase): TestResult {
  const { state, errors = [] } = test.result();
  const isSecondTry = state === "passed" && test.diagnostic()?.flaky === true;
  return {
    name: `${file}: ${test.fullName}`,
    verdict: isSecondTry ? "passed on the second try only" : state,
    reasons: errors.map(firstLines),
  };
}

interface SerializedError {
  readonly message: string;
}

function firstLines({ message }: SerializedError): string {
  return message.split("\n").slice(0, linesOfAnError).join("\n    ");
}
