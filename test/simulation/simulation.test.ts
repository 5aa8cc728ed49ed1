/** The control plane in a simulated world. A failing story is printed and shortened; its seed repeats it. */
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { limitedShrinking } from "../support/limited-shrinking.ts";
import { scaled, seededUnlessFull } from "../support/scale.ts";
import { type Plan, plans } from "./plan.ts";
import { played } from "./played.ts";

async function playsWell(plan: Plan): Promise<void> {
  expect(await played(plan)).not.toEqual([]);
}

it("SC-7, LC-5, LC-6 an elected reconciler harms no workload and leaves nothing behind, whatever its network, clocks and watches do", {
  timeout: 7_200_000,
}, async () => {
  const numRuns = scaled("simulated clusters with an election", 14, 4000);
  await fc.assert(fc.asyncProperty(plans({ hasElection: true }), limitedShrinking(playsWell)), {
    numRuns,
    ...seededUnlessFull(1),
  });
});

it("LC-21, LC-24, WM-1 upgrades, rollbacks and bad images keep to the bounds of a rollout, harm no workload, and leave no Mountpoint Pod that waits", {
  timeout: 7_200_000,
}, async () => {
  const numRuns = scaled("simulated clusters with upgrades, rollouts and warm Mountpoint Pods", 8, 4000);
  await fc.assert(fc.asyncProperty(plans({ hasElection: true, hasReleases: true }), limitedShrinking(playsWell)), {
    numRuns,
    ...seededUnlessFull(1),
  });
});

it("SC-7 replicas that may not use the lease and all work harm no workload, however late one of them is", {
  timeout: 7_200_000,
}, async () => {
  const numRuns = scaled("simulated clusters without an election", 6, 2000);
  await fc.assert(fc.asyncProperty(plans({ hasElection: false }), limitedShrinking(playsWell)), {
    numRuns,
    ...seededUnlessFull(1),
  });
});
