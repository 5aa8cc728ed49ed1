import { expect, it } from "vitest";
import { mapStorage } from "../../../test/support/fake-healing.ts";
import type { PodName } from "../../core/names.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import { MountRecords } from "./mount-records.ts";
import { PendingHeals } from "./pending-heals.ts";

const owed = {
  deviceId: fuseDevice(45),
  mountpointPod: "mp-1" as PodName,
  since: new Date(1000),
  targets: ["/target"],
};

it("LC-22 restores a pending heal after a restart until it is removed", () => {
  const kept = mapStorage();
  const heals = new PendingHeals(kept);
  heals.add({ ...owed, targets: ["/target", "/other"] });
  heals.add(owed);
  heals.add({ ...owed, deviceId: fuseDevice(46), mountpointPod: undefined });
  const again = new PendingHeals(kept);
  expect(again.all).toEqual([owed, { ...owed, deviceId: fuseDevice(46), mountpointPod: undefined }]);
  again.remove(fuseDevice(45));
  again.remove(fuseDevice(47));
  expect(new PendingHeals(kept).all).toMatchObject([{ deviceId: fuseDevice(46) }]);
});

it("LC-22 does not confuse mount records with pending heals, and ignores damaged files", () => {
  const kept = mapStorage();
  new PendingHeals(kept).add(owed);
  expect(new MountRecords(kept).mountpointPods).toEqual([]);
  kept.files.set("mp-1", JSON.stringify(owed));
  kept.files.set("owed-46", "{ minor");
  kept.files.set("owed-47", JSON.stringify({ minor: 47 }));
  kept.files.set("owed-48", JSON.stringify({ targets: ["/target"] }));
  expect(new PendingHeals(kept).all).toEqual([owed]);
});
