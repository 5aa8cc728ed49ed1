import type { Reporter, TestModule } from "vitest/node";

/** Names, after everything else, the tests that passed on their second try only, and why: a finding for whoever reads the report. */
export class RetriedTests implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        if (!test.diagnostic()?.flaky) continue;
        const errors = test.result().errors?.map(({ message }) => message) ?? [];
        process.stdout.write(`passed on the second try only: ${test.fullName}\n${errors.join("\n")}\n`);
      }
    }
  }
}
