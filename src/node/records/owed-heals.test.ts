import { expect, it } from "vitest";
import { mapKeeper } from "../../../test/support/fake-healing.ts";
import type { PodName } from "../../core/names.ts";
import { MountMemory } from "./mount-records.ts";
import { OwedHeals } from "./owed-heals.ts";

const owed = { minor: 45, mountpointPod: "mp-1" as PodName, since: new Date(1000), targets: ["/target"] };

it("LC-22 knows after a restart what is owed, until it is settled", () => {
  const kept = mapKeeper();
  const heals = new OwedHeals(kept);
  heals.owe({ ...owed, targets: ["/target", "/other"] });
  heals.owe(owed);
  heals.owe({ ...owed, minor: 46, mountpointPod: undefined });
  const again = new OwedHeals(kept);
  expect(again.all).toEqual([owed, { ...owed, minor: 46, mountpointPod: undefined }]);
  again.settle(45);
  again.settle(47);
  expect(new OwedHeals(kept).all).toMatchObject([{ minor: 46 }]);
});

it("LC-22 neither takes what mounts need for an owed heal, nor the reverse, nor anything damaged", () => {
  const kept = mapKeeper();
  new OwedHeals(kept).owe(owed);
  expect(new MountMemory(kept).mountpointPods).toEqual([]);
  kept.files.set("mp-1", JSON.stringify(owed));
  kept.files.set("owed-46", "{ minor");
  kept.files.set("owed-47", JSON.stringify({ minor: 47 }));
  expect(new OwedHeals(kept).all).toEqual([owed]);
});
