import { defineConfig } from "vitest/config";
import { TestReport } from "./lab/test-report.ts";

/** A machine that others use, too, and nobody beside it who could look: whatever needs its second try is named at the end. */
const retry = process.env["CI"] === undefined ? 0 : 1;

/** Where `./dev test` counts. */
const report = process.env["TEST_REPORT"];
const counted = report === undefined ? [] : [new TestReport(report)];

/** What a test waits for comes when the machine has time for it: the limits find what never comes. */
const patience = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 30_000 } } };

/** The four rings of test/README.md; each proves what the inner one cannot. */
export default defineConfig({
  test: {
    reporters: ["default", ...counted],
    projects: [
      {
        test: {
          ...patience,
          name: "unit",
          include: ["src/**/*.test.ts", "lab/**/*.test.ts", "test/*.test.ts"],
          // These tests share nothing but pure modules; a process of its own for each file would cost half of the ring's time.
          pool: "threads",
          isolate: false,
        },
      },
      {
        test: {
          ...patience,
          name: "wire",
          include: ["test/wire/**/*.test.ts"],
          retry,
        },
      },
      {
        test: {
          ...patience,
          name: "cluster",
          include: ["test/cluster/**/*.test.ts", "test/chart/**/*.test.ts"],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          retry,
          fileParallelism: false,
        },
      },
      {
        test: {
          ...patience,
          name: "node",
          include: ["test/node/**/*.test.ts"],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          retry,
          fileParallelism: false,
        },
      },
      {
        test: {
          ...patience,
          // Looks at what all files of the node ring left: ./dev test runs it after the last of them.
          name: "node-end",
          include: ["test/node-end/**/*.test.ts"],
          testTimeout: 600_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
