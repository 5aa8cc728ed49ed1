import { expect, it } from "vitest";
import { podOf } from "../../../test/support/fake-node.ts";
import type { PvName } from "../../core/names.ts";
import { type Attachments, Attachments as LocalAttachments } from "./attachments.ts";
import { checkVolume, volumeOf } from "./volume-of.ts";

const [mine, others] = ["mine", "others"] as [PvName, PvName];
const unnamed = { ...podOf(), persistentVolume: undefined };

function listing(...volumes: readonly PvName[]): Attachments {
  const attachments = new LocalAttachments("");
  for (const [at, persistentVolumeName] of volumes.entries()) {
    const lists = { [unnamed.name]: [] };
    const spec = { persistentVolumeName, mountpointS3PodAttachments: lists };
    attachments.store.put(`s3pa-${at}`, "1", spec as unknown as Parameters<typeof attachments.store.put>[2]);
  }
  return attachments;
}

it.for<[string, PvName | undefined, readonly PvName[], PvName | undefined]>([
  ["that names its volume", mine, [others], mine],
  ["that an attachment lists", undefined, [mine], mine],
  ["that two attachments of one volume list", undefined, [mine, mine], mine],
  ["that attachments of two volumes list: none of them", undefined, [mine, others], undefined],
  ["that waits: none", undefined, [], undefined],
])("WM-1 the volume of a Mountpoint Pod %s", ([, persistentVolume, listed, expected]) => {
  expect(volumeOf(listing(...listed), { ...unnamed, persistentVolume })).toBe(expected);
});

it.for<[string, PvName | undefined, readonly PvName[], PvName | undefined]>([
  ["of another volume", others, [mine], undefined],
  ["that attachments of two volumes list", undefined, [mine, others], undefined],
  ["that has mounted another volume", undefined, [mine], others],
  ["that no attachment lists", undefined, [], undefined],
])("WM-1 nothing is published from a Mountpoint Pod %s", ([, persistentVolume, listed, mounted]) => {
  const check = () => checkVolume({ attachments: listing(...listed), mounted }, { ...unnamed, persistentVolume }, mine);
  expect(check).toThrow("does not belong to PersistentVolume mine");
});

it("WM-1 is published from the Mountpoint Pod that an attachment of the volume lists", () => {
  expect(() => checkVolume({ attachments: listing(mine), mounted: mine }, unnamed, mine)).not.toThrow();
});
