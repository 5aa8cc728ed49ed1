/** What is left to do when healing worked for some, or where it cannot reach containers at all. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { FakeHealing, failingInside, unseenInside } from "../../../test/support/fake-healing.ts";
import {
  call,
  intentOf,
  mountpointPod,
  otherWorkload,
  podOf,
  source,
  target,
  targetOf,
  workload,
} from "../../../test/support/fake-node.ts";
import type { PodName } from "../../core/names.ts";
import { publish } from "../publish/publish.ts";
import { unpublish } from "../publish/unpublish.ts";

const soon = { timeout: 10_000, interval: 5 };
/** News shorten the pause between two attempts. */
const nudged =
  <Answer>(ask: () => Answer) =>
  () => {
    healing.parts.sources.dead.wake();
    return ask();
  };

let healing: FakeHealing;

beforeEach(() => {
  healing = new FakeHealing();
});

afterEach(() => healing[Symbol.asyncDispose]());

/** mount-s3 dies, and is started again at once. */
function diesAndListens(): void {
  healing.node.listens = true;
  healing.death();
}

async function untilHealed(times: number): Promise<void> {
  await expect
    .poll(
      nudged(() => healing.healed.length),
      soon,
    )
    .toBe(times);
}

it("tries again for a container that failed, although kubelet's own mount is whole", async () => {
  healing.parts = { ...healing.parts, swapper: failingInside(healing.node, 2) };
  healing.start();
  await publish(call, healing.parts, intentOf());
  diesAndListens();
  await untilHealed(1);
  expect(healing.healed).toMatchObject([{ mountpointPod, targets: [target] }]);
  expect(healing.reasons()).toEqual([
    expect.stringContaining("/data: it hangs"),
    expect.stringContaining("/data: it hangs"),
  ]);
  expect((await healing.parts.metrics.deaths.get()).values).toMatchObject([{ value: 1 }]);
});

it("LC-22 a restarted node plugin goes on with a container that failed, and tells when it works", async () => {
  healing.parts = { ...healing.parts, swapper: failingInside(healing.node, 3) };
  healing.start();
  await publish(call, healing.parts, intentOf());
  const minor = healing.node.kernel.at(target)?.minor ?? -1;
  diesAndListens();
  await expect.poll(() => healing.delayed.length, soon).toBe(1);
  await healing.restart();
  await untilHealed(1);
  expect(healing.healed).toMatchObject([{ dead: { minor, mountpointPod }, targets: [target] }]);
  await healing.restart();
  expect(healing.parts.pendingHeals.all).toEqual([]);
});

/** Owed once, because a container failed; then the node plugin is started again. */
async function owedAtRestart(): Promise<void> {
  healing.start();
  await publish(call, healing.parts, intentOf());
  diesAndListens();
  await expect.poll(() => healing.delayed.length, soon).toBe(1);
  await healing.restart();
}

it("LC-22 a heal stays owed while a container of its workload cannot be looked through, is told, and done later", async () => {
  healing.parts = { ...healing.parts, swapper: unseenInside(healing.node, 2) };
  await owedAtRestart();
  await expect.poll(() => healing.reasons()[1], soon).toContain("its table is too large");
  expect(healing.parts.pendingHeals.all).toMatchObject([{ targets: [target] }]);
  await untilHealed(1);
  expect(healing.delayed.map(({ targets }) => targets)).toEqual([[target], [target], [target]]);
  await expect.poll(() => healing.parts.pendingHeals.all, soon).toEqual([]);
});

it("LC-22 a heal that cannot be looked at is owed by the next node plugin, too", async () => {
  healing.parts = { ...healing.parts, swapper: unseenInside(healing.node, Infinity) };
  await owedAtRestart();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(1);
  await healing.restart();
  expect(healing.parts.pendingHeals.all).toMatchObject([{ targets: [target] }]);
});

it("LC-22 a heal that cannot be looked at is settled when its Pod is gone", async () => {
  healing.parts = { ...healing.parts, swapper: unseenInside(healing.node, Infinity) };
  await owedAtRestart();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(1);
  unpublish(call, healing.parts, { volumeId: "photos", targetPath: target });
  const owed = nudged(() => healing.parts.pendingHeals.all);
  await expect.poll(owed, soon).toEqual([]);
});

it("LC-22 a container of another Pod that cannot be looked through keeps no heal owed", async () => {
  healing.parts = { ...healing.parts, swapper: unseenInside(healing.node, Infinity, otherWorkload) };
  await owedAtRestart();
  await expect.poll(() => healing.parts.pendingHeals.all, soon).toEqual([]);
});

it("LC-22 a restarted node plugin does not take another mount for the dead one that had its number", async () => {
  healing.parts = { ...healing.parts, swapper: failingInside(healing.node, 1) };
  await publish(call, healing.parts, intentOf());
  const { minor = -1 } = healing.node.kernel.at(source) ?? {};
  const owed = { minor, since: new Date(), targets: [target] };
  healing.parts.pendingHeals.add({ ...owed, mountpointPod: "mp-of-another-volume" as PodName });
  healing.start();
  await expect.poll(() => healing.parts.pendingHeals.all, soon).toEqual([]);
  expect(healing.parts.sources.dead.isKnown(minor)).toBe(false);
});

it("lets go of a container that cannot be healed when its Pod is gone", async () => {
  healing.parts = { ...healing.parts, swapper: failingInside(healing.node, Infinity) };
  healing.start();
  await publish(call, healing.parts, intentOf());
  const minor = healing.node.kernel.at(target)?.minor ?? -1;
  diesAndListens();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(0);
  expect(healing.parts.sources.dead.isKnown(minor)).toBe(true);
  unpublish(call, healing.parts, { volumeId: "photos", targetPath: target });
  await expect
    .poll(
      nudged(() => healing.parts.sources.dead.isKnown(minor)),
      soon,
    )
    .toBe(false);
  expect(healing.healed).toEqual([]);
});

it("tells those whose containers work that they do, and owes only the one whose container failed", async () => {
  healing.node.knows(podOf(), workload, otherWorkload);
  healing.parts = { ...healing.parts, swapper: failingInside(healing.node, 2, otherWorkload) };
  await publish(call, healing.parts, intentOf());
  await publish(call, healing.parts, intentOf(otherWorkload));
  healing.start();
  diesAndListens();
  await untilHealed(2);
  expect(healing.healed.map(({ targets }) => targets)).toEqual([[target], [targetOf(otherWorkload)]]);
  expect(healing.delayed.map(({ targets }) => targets)).toEqual([[targetOf(otherWorkload)], [targetOf(otherWorkload)]]);
});

it("takes a failure of which nobody knows whose it is for everybody's, and that of one who has no volume for nobody's", async () => {
  healing.parts = { ...healing.parts, swapper: failingInside(healing.node, 1, undefined) };
  await publish(call, healing.parts, intentOf());
  healing.start();
  diesAndListens();
  await untilHealed(1);
  expect(healing.delayed.map(({ targets }) => targets)).toEqual([[target]]);
  healing.parts = { ...healing.parts, swapper: failingInside(healing.node, Infinity, otherWorkload) };
  await healing.restart();
  healing.node.startsListening();
  healing.death();
  await untilHealed(2);
  expect(healing.delayed).toHaveLength(1);
});

it("without the host's /proc brings the source back, says what is missing, and leaves the rest to kubelet's call", async () => {
  healing.parts = healing.node.parts;
  healing.start();
  await publish(call, healing.parts, intentOf());
  for (let death = 1; death <= 2; death += 1) {
    const minor = healing.node.kernel.at(target)?.minor ?? -1;
    healing.delayed.length = 0;
    diesAndListens();
    await expect.poll(() => healing.reasons(), soon).toContainEqual(expect.stringContaining("/proc is not mounted"));
    await publish(call, healing.parts, intentOf());
    expect(healing.node.kernel.at(target)?.minor).toBe(healing.node.kernel.at(source)?.minor);
    await expect
      .poll(
        nudged(() => healing.parts.sources.dead.isKnown(minor)),
        soon,
      )
      .toBe(false);
  }
  // The first stays beneath, for containers that follow it.
  expect(healing.node.kernel.table.filter(({ mountPoint }) => mountPoint === target)).toHaveLength(2);
});

it("does not count, or speak of, the death of a mount that nobody uses", async () => {
  await publish(call, healing.parts, intentOf());
  unpublish(call, healing.parts, { volumeId: "photos", targetPath: target });
  healing.restartedAfterDeath();
  healing.start();
  await healing.restart();
  const minor = healing.node.kernel.at(source)?.minor ?? -1;
  expect(healing.parts.sources.dead.isKnown(minor)).toBe(false);
  expect((await healing.parts.metrics.deaths.get()).values).toMatchObject([{ value: 0 }]);
});
