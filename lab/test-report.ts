/** What a run of vitest leaves for `./dev test`: how much passed, and every finding with its reason. */
import { writeFile } from "node:fs/promises";
import type { Reporter, TestModule } from "vitest/node";
import { type Counts, sum } from "./test-counts.ts";

/** Enough of an error to know where to look; the whole of it stands further up, where the test ran. */
const linesOfAnError = 6;

/** A skipped test counts as failed, and so does an error outside of any test. */
export class TestReport implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  async onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Said[]): Promise<void> {
    const outside = {
      passed: 0,
      failed: unhandled.length,
      findings: unhandled.map(finding("failed: outside of any test")),
    };
    await writeFile(this.#file, JSON.stringify(sum([...modules.map(ofModule), outside])));
  }
}

function ofModule(module: TestModule): Counts {
  const tests = [...module.children.allTests()];
  const passed = tests.filter((test) => test.result().state === "passed").length;
  const setUps = [module, ...module.children.allSuites()].flatMap((suite) =>
    suite.errors().map(finding(`failed: ${module.relativeModuleId}: set-up`)),
  );
  const findings = tests.flatMap((test) => {
    const { state, errors = [] } = test.result();
    if (state === "passed" && !test.diagnostic()?.flaky) return [];
    const verdict = state === "passed" ? "passed on the second try only" : state;
    const name = `${verdict}: ${module.relativeModuleId}: ${test.fullName}`;
    return errors.length === 0 ? [name] : errors.map(finding(name));
  });
  return { passed, failed: tests.length - passed, findings: [...setUps, ...findings] };
}

interface Said {
  readonly message: string;
}

function finding(name: string): (error: Said) => string {
  return ({ message }) => [name, ...message.split("\n").slice(0, linesOfAnError)].join("\n    ");
}
