/** What healing reports, counts and records. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeHealing, failingInside } from "../../../test/support/fake-healing.ts";
import {
  call,
  hangs,
  intentOf,
  mountpointPod,
  otherWorkload,
  podOf,
  source,
  target,
  targetOf,
  workload,
} from "../../../test/support/fake-node.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import { publish } from "../publish/publish.ts";
import type { Swapper } from "../swap/swap.ts";

const soon = { timeout: 10_000, interval: 5 };

let healing: FakeHealing;

beforeEach(() => {
  healing = new FakeHealing();
});

afterEach(() => healing[Symbol.asyncDispose]());

/** Replaces mounts, and fails at so many mount points in containers of the workload, at the first of them because it is unsafe. */
function failingAt(mounts: number): Swapper {
  const inside = failingInside(healing.node, 0);
  return {
    ...inside,
    swap: async (...args) => {
      const { replaced } = await inside.swap(...args);
      const failures = Array.from({ length: mounts }, (_, index) => ({
        workload,
        mountPoint: `/data/${index}`,
        because: "no",
        isUnsafe: index === 0,
      }));
      return { replaced, failures };
    },
  };
}

async function diesWhileHealingFails(swapper: Swapper): Promise<void> {
  healing.swapWith(swapper);
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  healing.node.listens = true;
  healing.death();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(0);
}

it.for([
  { mounts: 5, others: "" },
  { mounts: 7, others: "; 2 more" },
])("names only some of many mounts that were not replaced: $mounts", async ({ mounts, others }) => {
  await diesWhileHealingFails(failingAt(mounts));
  const named = [0, 1, 2, 3, 4].map((index) => `/data/${index}: no`).join("; ");
  expect(healing.delayed[0]?.because.message).toBe(`the dead mount could not be replaced at ${named}${others}`);
});

it("counts attempts that failed, and mounts that were not replaced because their path led elsewhere", async () => {
  await diesWhileHealingFails(failingAt(2));
  const { failedHeals, refusedHeals } = healing.node.metrics;
  const attempts = healing.delayed.length;
  expect((await failedHeals.get()).values).toMatchObject([{ value: attempts }]);
  expect((await refusedHeals.get()).values).toMatchObject([{ value: attempts }]);
});

it("LC-22 records only the targets that are not healed: a restarted node plugin does not report the others again", async () => {
  healing.node.knows(podOf(), workload, otherWorkload);
  healing.swapWith(failingInside(healing.node, Infinity, otherWorkload));
  healing.start();
  for (const of of [workload, otherWorkload]) await publish(call, healing.rooms.publishing, intentOf(of));
  healing.node.listens = true;
  healing.death();
  await expect.poll(() => healing.healed.map(({ targets }) => targets), soon).toEqual([[target]]);
  const pending = () => healing.rooms.records.pendingHeals.all.map(({ targets }) => targets);
  await expect.poll(pending, soon).toEqual([[targetOf(otherWorkload)]]);
});

it("reports nothing when the program ends during an attempt, and leaves the heal to the next node plugin", async () => {
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  healing.node.behaviour = hangs;
  healing.node.listens = true;
  healing.death();
  await expect.poll(() => healing.node.requests.length, soon).toBe(2);
  await healing.stop();
  expect([healing.delayed, healing.healed]).toEqual([[], []]);
  expect(healing.rooms.records.pendingHeals.all).toMatchObject([{ targets: [target] }]);
});

it.for([
  { died: "long ago", sinceMs: 60_000, condition: "stuck" },
  { died: "just now", sinceMs: 0, condition: "dead" },
])("a source whose mount-s3 died $died and does not exit is $condition", async ({ sinceMs, condition }) => {
  await publish(call, healing.rooms.publishing, intentOf());
  const deviceId = healing.node.kernel.at(source)?.deviceId ?? fuseDevice(-1);
  const since = new Date(Date.now() - sinceMs);
  healing.restartedAfterDeath();
  healing.rooms.records.pendingHeals.add({ deviceId, mountpointPod, since, targets: [target] });
  // The attempt fails: the Mountpoint Pod uses other credentials than the record.
  healing.node.put(podOf({ identity: "secret:default/keys" }));
  healing.start();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(0);
  await expect.poll(() => healing.rooms.sources.registry.get(mountpointPod).condition, soon).toBe(condition);
});
