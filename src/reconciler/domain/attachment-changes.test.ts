import { describe, expect, it } from "vitest";
import type { Attachment, AttachmentSpec, SharingKey } from "../../core/attachment.ts";
import type { NodeName, PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import { Roster } from "./attachment-changes.ts";

const mpA = "mp-a" as PodName;
const mpB = "mp-b" as PodName;
const w1 = "uid-1" as PodUid;
const w2 = "uid-2" as PodUid;
const at = new Date("2026-01-15T10:30:00Z");

const key: SharingKey = {
  node: "worker-1" as NodeName,
  persistentVolume: "data" as PvName,
  volumeId: "handle" as VolumeId,
  mountOptions: "",
  fsGroup: "",
};

function attachment(
  name: string,
  lists: Readonly<Record<string, readonly PodUid[]>>,
  creationTimestamp = "2026-01-15T10:00:00Z",
): Attachment {
  const served = Object.entries(lists).map(([pod, workloads]) => [
    pod,
    workloads.map((workloadPodUID) => ({ workloadPodUID, attachmentTime: "2026-01-15T10:00:00Z" })),
  ]);
  const spec: AttachmentSpec = {
    nodeName: key.node,
    persistentVolumeName: key.persistentVolume,
    volumeID: key.volumeId,
    mountOptions: key.mountOptions,
    workloadFSGroup: key.fsGroup,
    mountpointS3PodAttachments: Object.fromEntries(served),
  };
  return { metadata: { name, creationTimestamp }, spec };
}

function state(roster: Roster<Attachment, Attachment>) {
  return roster.entries().map(({ after, reasons }) => {
    const lists = Object.entries(after.spec.mountpointS3PodAttachments);
    return [after.metadata.name, Object.fromEntries(lists.map(([name, list]) => [name, list.length])), reasons];
  });
}

it("leaves what nobody changes as it is, without a reason to write it", () => {
  const roster = new Roster<Attachment, Attachment>([attachment("x", { [mpA]: [w1] })]);
  roster.releaseAllBut(new Set([w1]), "ended");
  expect(roster.dropIdle("idle", new Set())).toEqual([]);
  const [entry] = roster.entries();
  expect(entry?.after).toBe(entry?.before);
  expect(entry?.reasons).toEqual([]);
});

it("releases from every attachment those that need nothing any more", () => {
  const roster = new Roster<Attachment, Attachment>([
    attachment("x", { [mpA]: [w1, w2] }),
    attachment("y", { [mpB]: [w1] }),
  ]);
  roster.releaseAllBut(new Set([w2]), "ended");
  expect(state(roster)).toEqual([
    ["x", { [mpA]: 1 }, ["ended"]],
    ["y", { [mpB]: 0 }, ["ended"]],
  ]);
});

describe("dropping Mountpoint Pods that serve nobody", () => {
  it("names them", () => {
    const roster = new Roster<Attachment, Attachment>([attachment("x", { [mpA]: [w1], [mpB]: [] })]);
    expect(roster.dropIdle("idle", new Set())).toEqual([mpB]);
    expect(state(roster)).toEqual([["x", { [mpA]: 1 }, ["idle"]]]);
  });

  it("does not name one that a duplicate of the attachment still uses", () => {
    const roster = new Roster<Attachment, Attachment>([
      attachment("x", { [mpA]: [] }),
      attachment("y", { [mpA]: [w1] }),
    ]);
    expect(roster.dropIdle("idle", new Set())).toEqual([]);
    expect(state(roster)).toEqual([
      ["x", {}, ["idle"]],
      ["y", { [mpA]: 1 }, []],
    ]);
  });
});

it("lets workloads meet in the oldest of several attachments with a key", () => {
  const roster = new Roster<Attachment, Attachment>([
    attachment("younger", {}, "2026-01-15T11:00:00Z"),
    attachment("older", {}, "2026-01-15T10:00:00Z"),
  ]);
  expect(roster.find(key)?.before?.metadata.name).toBe("older");
  expect(roster.find({ ...key, fsGroup: "1000" })).toBeUndefined();
});

it("finds what was added, and who was assigned", () => {
  const roster = new Roster<Attachment, Attachment>([]);
  roster.add(attachment("new", { [mpA]: [w1] }), "first");
  const entry = roster.find(key);
  if (entry === undefined) throw new Error("lost");
  roster.assign(entry, { mountpointPod: mpA, workload: w2, at }, "shares");
  expect(roster.holding(w2)).toBe(roster.find(key));
  expect(state(roster)).toEqual([["new", { [mpA]: 2 }, ["first", "shares"]]]);
});

it("remembers a Mountpoint Pod for as long as the cluster lists it", () => {
  const roster = new Roster<Attachment, Attachment>([attachment("x", { [mpA]: [] })]);
  roster.dropIdle("idle", new Set());
  expect(roster.lists(mpA)).toBe(true);
  expect(roster.lists(mpB)).toBe(false);
});
