import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { TestReport } from "./lab/testing/report.ts";
import { includes } from "./lab/testing/rings.ts";

/** A machine that others use, too, and nobody beside it who could look: whatever needs its second try is named at the end. */
const retry = process.env["CI"] === undefined ? 0 : 1;

/** Where `./dev test` counts. */
const report = process.env["TEST_REPORT"];
const counted = report === undefined ? [] : [new TestReport(report)];

/** What a test waits for comes when the machine has time for it: the limits find what never comes. */
const patience = { testTimeout: 60_000, hookTimeout: 60_000, expect: { poll: { timeout: 30_000 } } };

/** The rings of test/README.md; each proves what the inner one cannot. */
export default defineConfig({
  test: {
    reporters: ["default", ...counted],
    // All of them: by default one core is left out, which is half of a small machine.
    maxWorkers: availableParallelism(),
    tags: [{ name: "smoke", description: "Runs in ./dev test smoke: the least that shows a working driver." }],
    projects: [
      {
        test: {
          ...patience,
          name: "unit",
          include: [...includes.unit],
          setupFiles: ["test/support/property-seed.ts"],
          // These tests share nothing but pure modules; a process of its own for each file would cost half of the ring's time.
          pool: "threads",
          isolate: false,
        },
      },
      {
        test: {
          ...patience,
          name: "wire",
          include: [...includes.wire],
          retry,
        },
      },
      {
        test: {
          ...patience,
          name: "cluster",
          include: [...includes.cluster],
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
          include: [...includes.node],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          retry,
          fileParallelism: false,
        },
      },
      {
        test: {
          ...patience,
          name: "stores",
          include: [...includes.stores],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          retry,
          fileParallelism: false,
        },
      },
      {
        test: {
          ...patience,
          name: "matrix",
          include: [...includes.matrix],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          retry,
          fileParallelism: false,
        },
      },
      {
        test: {
          ...patience,
          name: "node-end",
          include: [...includes["node-end"]],
          testTimeout: 600_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
