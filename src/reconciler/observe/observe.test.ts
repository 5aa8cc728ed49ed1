import { expect, it } from "vitest";
import type { PvName, VolumeId } from "../../core/names.ts";
import { current, node, now, volume } from "../decision/situation.fixture.ts";
import { observe } from "./observe.ts";
import { emptyView } from "./view.ts";

const policy = { driverVersion: "3.0.0", current, staleAfterMs: 120_000 };

it("names the other volumes with the same handle, and no others", () => {
  const view = emptyView();
  const others = [
    { ...volume, name: "same" as PvName },
    { ...volume, name: "different" as PvName, volumeId: "another" as VolumeId },
  ];
  for (const each of [volume, ...others]) view.volumes.put(each.name, "1", each);
  const sameHandle = (persistentVolume: PvName) => observe(view, { node, persistentVolume }, policy, now).sameHandle;
  expect(sameHandle(volume.name)).toEqual(["same"]);
  expect(sameHandle("different" as PvName)).toEqual([]);
});
