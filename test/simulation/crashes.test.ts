/** The leader, or a node plugin, is killed at every point at which it waits for something, one after the other, in one story. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { scaled } from "../support/scale.ts";
import type { Plan, PlannedWorkload } from "./plan.ts";
import { played, stepsUntil } from "./played.ts";

const usual: PlannedWorkload = { atSeconds: 20, node: 0, volume: 0, fsGroup: 0, livesSeconds: 60, end: "isDeleted" };

/** Workloads that share, one that does not, two that live to the end, one whose Mountpoint Pod fails, and one that is deleted by force. */
const plan: Plan = {
  seed: 1,
  clocks: [0, 1].map(() => ({ skewSeconds: 0, drift: 0 })),
  hasElection: true,
  hasWatchList: true,
  workloads: [
    usual,
    { ...usual, atSeconds: 25, livesSeconds: 90 },
    { ...usual, atSeconds: 27, livesSeconds: 100_000 },
    { ...usual, atSeconds: 28, volume: 1, livesSeconds: 100_000 },
    { ...usual, atSeconds: 26, fsGroup: 2000, livesSeconds: 70, end: "completes" },
    { ...usual, atSeconds: 40, volume: 1, node: 1, livesSeconds: 45, end: "isDeletedByForce" },
  ],
  faults: [{ atSeconds: 60, replica: 0, fault: "mountpointPod", which: 0, what: "fails" }],
};

/** All workloads have ended by then, and the leader has cleaned up. */
const endSeconds = 180;

it.for([
  { id: "LC-5", what: "the leader", who: "replica", dies: "replica-0 crashes" },
  { id: "LC-4", what: "the node plugin", who: "nodePlugin", dies: "the node plugin of node-0 crashes" },
] as const)(
  "$id $what is killed at every wait: every workload is served, and nothing is left behind",
  { timeout: 7_200_000 },
  async ({ who, dies }) => {
    const steps = await stepsUntil(plan, who, endSeconds);
    expect(steps).toBeGreaterThan(100);
    const crashes = scaled("points at which a leader or a node plugin is killed", 6, 100_000);
    const killedAt = async (step: number) => {
      const story = await played({ ...plan, crashAt: { who, step } });
      expect(story.filter((line) => line.endsWith(dies))).toHaveLength(1);
      expect(story.filter((line) => line.endsWith("2 workloads are served"))).toHaveLength(1);
    };
    if (crashes >= steps) for (let step = 1; step <= steps; step += 1) await killedAt(step);
    // Without the bias of fast-check, which prefers the first and the last steps.
    else
      await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: steps }), killedAt), {
        numRuns: crashes,
        unbiased: true,
      });
  },
);
