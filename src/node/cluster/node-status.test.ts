import { expect, it } from "vitest";
import { mountpointPod, volume, workload } from "../../../test/support/fake-node.ts";
import type { NodeName, PodName, VolumeId } from "../../core/names.ts";
import { type SourceState, unknownSource } from "../source/source-state.ts";
import type { LocalAttachment } from "./attachments.ts";
import { nodeStatusOf } from "./node-status.ts";

const now = new Date("2026-01-15T10:30:00.500Z");
const serving: SourceState = { ...unknownSource, condition: "serving" };

const attachment: LocalAttachment = {
  name: "s3pa-1",
  uid: "uid",
  status: {},
  unschedulable: undefined,
  nodeName: "node-1" as NodeName,
  persistentVolumeName: volume,
  volumeID: "photos" as VolumeId,
  mountOptions: "",
  workloadFSGroup: "",
  mountpointS3PodAttachments: {
    [mountpointPod]: [{ workloadPodUID: workload, attachmentTime: "2026-01-15T10:30:00Z" }],
    "mp-idle": [],
  },
};

const statusOf = (state: Partial<SourceState>, of = attachment) =>
  nodeStatusOf(of, (name: PodName) => (name === mountpointPod ? { ...serving, ...state } : serving), now);

it.for([
  { health: "absent", mounted: ["False", "NotMounted"], healthy: ["Unknown", "NotMounted"] },
  { health: "starting", mounted: ["False", "Starting"], healthy: ["Unknown", "NotMounted"] },
  { health: "serving", mounted: ["True", "Mounted"], healthy: ["True", "Serving"] },
  { health: "dead", mounted: ["True", "Mounted"], healthy: ["False", "Dead"] },
  { health: "hung", mounted: ["True", "Mounted"], healthy: ["False", "Hung"] },
] as const)("a source that is $health", ({ health, mounted, healthy }) => {
  const { conditions = [] } = statusOf({ condition: health });
  expect(conditions.map(({ type, status, reason }) => [type, status, reason])).toEqual([
    ["Mounted", ...mounted],
    ["Healthy", ...healthy],
  ]);
});

it("reports deaths and heals, and every listed Mountpoint Pod", () => {
  const { mountpointPods } = statusOf({ lastDeath: now, heals: 2 });
  expect(mountpointPods).toEqual({
    [mountpointPod]: { health: "serving", lastDeath: "2026-01-15T10:30:00Z", heals: 2 },
    "mp-idle": { health: "serving" },
  });
});

it("DS-14 reports whether a source that needs unmount is in use", () => {
  expect(statusOf({ inUse: true }).mountpointPods?.[mountpointPod]).toEqual({ health: "serving", inUse: true });
  expect(statusOf({ inUse: false }).mountpointPods?.[mountpointPod]).toEqual({ health: "serving", inUse: false });
});

it("keeps the transition time of an unchanged condition, and reports no condition without workloads", () => {
  const earlier = statusOf({});
  const later = nodeStatusOf({ ...attachment, status: earlier }, () => serving, new Date("2027-01-01T00:00:00Z"));
  expect(later.conditions).toEqual(earlier.conditions);
  const empty = statusOf({}, { ...attachment, mountpointS3PodAttachments: { [mountpointPod]: [] } });
  expect(empty.conditions?.[0]).toMatchObject({ status: "Unknown", reason: "NoWorkload" });
});
