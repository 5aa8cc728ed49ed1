/** Heals that succeed for some workloads only, and node plugins that cannot enter containers. */

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
import { fuseDevice } from "../../linux/device-id.ts";
import { publish } from "../publish/publish.ts";
import { unpublish } from "../publish/unpublish.ts";

const soon = { timeout: 10_000, interval: 5 };
/** Wakes the healer, which shortens the pause between two attempts. */
const nudged =
  <Answer>(ask: () => Answer) =>
  () => {
    healing.rooms.sources.registry.dead.wake();
    return ask();
  };

let healing: FakeHealing;

beforeEach(() => {
  healing = new FakeHealing();
});

afterEach(() => healing[Symbol.asyncDispose]());

/** mount-s3 dies, and kubelet restarts it at once. */
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

it("retries for a container that failed, although kubelet's own mount works", async () => {
  healing.swapWith(failingInside(healing.node, 2));
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  diesAndListens();
  await untilHealed(1);
  expect(healing.healed).toMatchObject([{ mountpointPod, targets: [target] }]);
  expect(healing.reasons()).toEqual([
    expect.stringContaining("/data: it hangs"),
    expect.stringContaining("/data: it hangs"),
  ]);
  expect((await healing.node.metrics.deaths.get()).values).toMatchObject([{ value: 1 }]);
});

it("LC-22 a restarted node plugin retries a container that failed, and reports the heal", async () => {
  healing.swapWith(failingInside(healing.node, 3));
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  const deviceId = healing.node.kernel.at(target)?.deviceId ?? fuseDevice(-1);
  diesAndListens();
  await expect.poll(() => healing.delayed.length, soon).toBe(1);
  await healing.restart();
  await untilHealed(1);
  expect(healing.healed).toMatchObject([{ dead: { deviceId, mountpointPod }, targets: [target] }]);
  await healing.restart();
  expect(healing.rooms.records.pendingHeals.all).toEqual([]);
});

/** A heal becomes pending, because a container failed; then the node plugin restarts. */
async function owedAtRestart(): Promise<void> {
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  diesAndListens();
  await expect.poll(() => healing.delayed.length, soon).toBe(1);
  await healing.restart();
}

it("LC-22 a heal stays pending and is reported while a container of its workload cannot be inspected, and completes later", async () => {
  healing.swapWith(unseenInside(healing.node, 2));
  await owedAtRestart();
  await expect.poll(() => healing.reasons()[1], soon).toContain("its table is too large");
  expect(healing.rooms.records.pendingHeals.all).toMatchObject([{ targets: [target] }]);
  await untilHealed(1);
  expect(healing.delayed.map(({ targets }) => targets)).toEqual([[target], [target], [target]]);
  await expect.poll(() => healing.rooms.records.pendingHeals.all, soon).toEqual([]);
});

it("LC-22 an undecided heal stays pending for the next node plugin", async () => {
  healing.swapWith(unseenInside(healing.node, Infinity));
  await owedAtRestart();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(1);
  await healing.restart();
  expect(healing.rooms.records.pendingHeals.all).toMatchObject([{ targets: [target] }]);
});

it("LC-22 an undecided heal is completed although another heal of its device has ended meanwhile", async () => {
  healing.swapWith(unseenInside(healing.node, 2));
  await owedAtRestart();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(1);
  const [owed] = healing.rooms.records.pendingHeals.all;
  healing.rooms.records.pendingHeals.remove(owed?.deviceId ?? fuseDevice(-1));
  await untilHealed(1);
  expect(healing.healed).toMatchObject([{ targets: [target] }]);
});

it("LC-22 an undecided heal is removed when its Pod is gone", async () => {
  healing.swapWith(unseenInside(healing.node, Infinity));
  await owedAtRestart();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(1);
  unpublish(call, healing.rooms.publishing, { volumeId: "photos", targetPath: target });
  const owed = nudged(() => healing.rooms.records.pendingHeals.all);
  await expect.poll(owed, soon).toEqual([]);
});

it("LC-22 an undecided heal whose device is noticed anew is completed for its own targets, too, and reported", async () => {
  healing.node.knows(podOf(), workload, otherWorkload);
  healing.swapWith(unseenInside(healing.node, Infinity));
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  await publish(call, healing.rooms.publishing, intentOf(otherWorkload));
  diesAndListens();
  await expect.poll(() => healing.delayed.length, soon).toBe(1);
  await healing.restart();
  const [owed] = healing.rooms.records.pendingHeals.all;
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(1);
  healing.rooms.sources.registry.dead.notice(
    { deviceId: owed?.deviceId ?? fuseDevice(-1), mountPoint: target },
    mountpointPod,
  );
  await untilHealed(2);
  expect(healing.healed.map(({ targets }) => targets)).toEqual([[targetOf(otherWorkload)], [target]]);
  await expect.poll(() => healing.rooms.records.pendingHeals.all, soon).toEqual([]);
});

it("LC-22 a container of another Pod that cannot be inspected does not keep a heal pending", async () => {
  healing.swapWith(unseenInside(healing.node, Infinity, otherWorkload));
  await owedAtRestart();
  await expect.poll(() => healing.rooms.records.pendingHeals.all, soon).toEqual([]);
});

it("LC-22 a restarted node plugin does not confuse a new mount with the dead one that had its minor number", async () => {
  healing.swapWith(failingInside(healing.node, 1));
  await publish(call, healing.rooms.publishing, intentOf());
  const { deviceId = fuseDevice(-1) } = healing.node.kernel.at(source) ?? {};
  const owed = { deviceId, since: new Date(), targets: [target] };
  healing.rooms.records.pendingHeals.add({ ...owed, mountpointPod: "mp-of-another-volume" as PodName });
  healing.start();
  await expect.poll(() => healing.rooms.records.pendingHeals.all, soon).toEqual([]);
  expect(healing.rooms.sources.registry.dead.isKnown(deviceId)).toBe(false);
});

it("stops healing a container when its Pod is gone", async () => {
  healing.swapWith(failingInside(healing.node, Infinity));
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  const deviceId = healing.node.kernel.at(target)?.deviceId ?? fuseDevice(-1);
  diesAndListens();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(0);
  expect(healing.rooms.sources.registry.dead.isKnown(deviceId)).toBe(true);
  unpublish(call, healing.rooms.publishing, { volumeId: "photos", targetPath: target });
  await expect
    .poll(
      nudged(() => healing.rooms.sources.registry.dead.isKnown(deviceId)),
      soon,
    )
    .toBe(false);
  expect(healing.healed).toEqual([]);
});

it("reports workloads whose containers are healed, and keeps only the failed one pending", async () => {
  healing.node.knows(podOf(), workload, otherWorkload);
  healing.swapWith(failingInside(healing.node, 2, otherWorkload));
  await publish(call, healing.rooms.publishing, intentOf());
  await publish(call, healing.rooms.publishing, intentOf(otherWorkload));
  healing.start();
  diesAndListens();
  await untilHealed(2);
  expect(healing.healed.map(({ targets }) => targets)).toEqual([[target], [targetOf(otherWorkload)]]);
  expect(healing.delayed.map(({ targets }) => targets)).toEqual([[targetOf(otherWorkload)], [targetOf(otherWorkload)]]);
});

it("counts a failure of an unknown workload for all targets, and that of a workload without the volume for none", async () => {
  healing.swapWith(failingInside(healing.node, 1, undefined));
  await publish(call, healing.rooms.publishing, intentOf());
  healing.start();
  diesAndListens();
  await untilHealed(1);
  expect(healing.delayed.map(({ targets }) => targets)).toEqual([[target]]);
  healing.swapWith(failingInside(healing.node, Infinity, otherWorkload));
  await healing.restart();
  healing.node.startsListening();
  healing.death();
  await untilHealed(2);
  expect(healing.delayed).toHaveLength(1);
});

it("without the host's /proc mounts the source again, reports what is missing, and leaves the target to kubelet's call", async () => {
  healing.rooms = healing.node.rooms;
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  for (let death = 1; death <= 2; death += 1) {
    const deviceId = healing.node.kernel.at(target)?.deviceId ?? fuseDevice(-1);
    healing.delayed.length = 0;
    diesAndListens();
    await expect.poll(() => healing.reasons(), soon).toContainEqual(expect.stringContaining("/proc is not mounted"));
    await publish(call, healing.rooms.publishing, intentOf());
    expect(healing.node.kernel.at(target)?.deviceId).toBe(healing.node.kernel.at(source)?.deviceId);
    await expect
      .poll(
        nudged(() => healing.rooms.sources.registry.dead.isKnown(deviceId)),
        soon,
      )
      .toBe(false);
  }
  // The first dead mount stays below, for containers with a slave copy of it.
  expect(healing.node.kernel.table.filter(({ mountPoint }) => mountPoint === target)).toHaveLength(2);
});

it("counts a death although a move has stored the mount as a pending heal", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  const deviceId = healing.node.kernel.at(source)?.deviceId ?? fuseDevice(-1);
  const moved = { deviceId, mountpointPod, since: new Date(0), targets: [target] };
  healing.rooms.records.pendingHeals.add(moved);
  healing.restartedAfterDeath();
  healing.rooms.sources.registry.dead.notice({ deviceId, mountPoint: source }, mountpointPod);
  healing.start();
  await expect.poll(async () => (await healing.node.metrics.deaths.get()).values).toMatchObject([{ value: 1 }]);
});

it("neither counts nor reports the death of a mount without users", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  unpublish(call, healing.rooms.publishing, { volumeId: "photos", targetPath: target });
  healing.restartedAfterDeath();
  healing.start();
  await healing.restart();
  const deviceId = healing.node.kernel.at(source)?.deviceId ?? fuseDevice(-1);
  expect(healing.rooms.sources.registry.dead.isKnown(deviceId)).toBe(false);
  expect((await healing.node.metrics.deaths.get()).values).toMatchObject([{ value: 0 }]);
});
