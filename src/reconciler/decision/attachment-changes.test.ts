import { describe, expect, it } from "vitest";
import { newAttachment, type SharingKey, sharingKey } from "../../core/attachment.ts";
import type { PodName } from "../../core/names.ts";
import {
  type AttachmentChanges,
  isListed,
  listingWorkload,
  unchanged,
  withAssignment,
  withKey,
  withNewAttachment,
  withoutIdle,
  withoutWorkloads,
} from "./attachment-changes.ts";
import { attachment, node, now, volume, w1, w2 } from "./situation.fixture.ts";

const mpA = "mp-a" as PodName;
const mpB = "mp-b" as PodName;
const key: SharingKey = sharingKey({ node, fsGroup: "" }, volume);

function state(changes: AttachmentChanges) {
  return changes.map(({ after, reasons }) => {
    const lists = Object.entries(after.spec.mountpointS3PodAttachments);
    return [after.metadata.name, Object.fromEntries(lists.map(([name, list]) => [name, list.length])), reasons];
  });
}

it("an attachment that nothing changes stays as it is, without a reason to write it", () => {
  const before = unchanged([attachment({ [mpA]: [w1] }, { name: "x" })]);
  const { changes, unlisted } = withoutIdle(withoutWorkloads(before, new Set([w1]), "ended"), new Set(), "idle");
  expect(unlisted).toEqual([]);
  expect(changes[0]?.after).toBe(changes[0]?.before);
  expect(changes[0]?.reasons).toEqual([]);
});

it("a function returns new changes and leaves its argument alone", () => {
  const before = unchanged([attachment({ [mpA]: [w1] }, { name: "x" })]);
  withoutWorkloads(before, new Set(), "ended");
  expect(state(before)).toEqual([["x", { [mpA]: 1 }, []]]);
});

it("workloads that need no volume any more are released from every attachment", () => {
  const before = unchanged([
    attachment({ [mpA]: [w1, w2] }, { name: "x" }),
    attachment({ [mpB]: [w1] }, { name: "y", fsGroup: "2000" }),
  ]);
  expect(state(withoutWorkloads(before, new Set([w2]), "ended"))).toEqual([
    ["x", { [mpA]: 1 }, ["ended"]],
    ["y", { [mpB]: 0 }, ["ended"]],
  ]);
});

describe("dropping Mountpoint Pods that serve no workload", () => {
  it("returns their names", () => {
    const before = unchanged([attachment({ [mpA]: [w1], [mpB]: [] }, { name: "x" })]);
    const { changes, unlisted } = withoutIdle(before, new Set(), "idle");
    expect(unlisted).toEqual([mpB]);
    expect(state(changes)).toEqual([["x", { [mpA]: 1 }, ["idle"]]]);
  });

  it("keeps the lists of those that are to stay", () => {
    const before = unchanged([attachment({ [mpA]: [], [mpB]: [] }, { name: "x" })]);
    const { changes, unlisted } = withoutIdle(before, new Set([mpA]), "idle");
    expect(unlisted).toEqual([mpB]);
    expect(state(changes)).toEqual([["x", { [mpA]: 0 }, ["idle"]]]);
  });

  it("does not return one that a duplicate of the attachment still lists", () => {
    const before = unchanged([attachment({ [mpA]: [] }, { name: "x" }), attachment({ [mpA]: [w1] }, { name: "y" })]);
    const { changes, unlisted } = withoutIdle(before, new Set(), "idle");
    expect(unlisted).toEqual([]);
    expect(state(changes)).toEqual([
      ["x", {}, ["idle"]],
      ["y", { [mpA]: 1 }, []],
    ]);
  });
});

it("workloads are added to the oldest of several attachments with their key", () => {
  const [younger, older] = [attachment({}, { name: "a" }), attachment({}, { name: "b" })];
  const creationTimestamp = "2026-01-15T11:00:00Z";
  const changes = unchanged([{ ...younger, metadata: { ...younger.metadata, creationTimestamp } }, older]);
  expect(withKey(changes, key)?.before?.metadata.name).toBe("b");
  expect(withKey(changes, { ...key, fsGroup: "1000" })).toBeUndefined();
});

it("a new attachment is found by its key, and by the workloads that are assigned in it", () => {
  const made = { driverVersion: "3.0.0", authenticationSource: "driver" };
  const first = newAttachment(key, made, { mountpointPod: mpA, workload: w1, at: now });
  const added = withNewAttachment([], first, "first");
  const found = withKey(added, key);
  if (found === undefined) throw new Error("the new attachment is not found by its key");
  const changes = withAssignment(added, found, { mountpointPod: mpA, workload: w2, at: now }, "shares");
  expect(listingWorkload(changes, w2)).toBe(withKey(changes, key));
  expect(state(changes)).toEqual([[first.metadata.name, { [mpA]: 2 }, ["first", "shares"]]]);
});

it("a Mountpoint Pod counts as listed for as long as the cluster lists it", () => {
  const { changes } = withoutIdle(unchanged([attachment({ [mpA]: [] })]), new Set(), "idle");
  expect(isListed(changes, mpA)).toBe(true);
  expect(isListed(changes, mpB)).toBe(false);
});
