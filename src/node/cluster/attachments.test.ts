import { expect, it } from "vitest";
import { call, intentOf, volume, workload } from "../../../test/support/fake-node.ts";
import type { AttachmentSpec } from "../../core/attachment.ts";
import type { NodeName, PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import { Attachments, type LocalAttachment } from "./attachments.ts";

const attachment = (more: Partial<AttachmentSpec>, holder: string, uid: PodUid = workload): LocalAttachment => ({
  name: "s3pa",
  uid: "uid",
  status: {},
  unschedulable: undefined,
  nodeName: "node-1" as NodeName,
  persistentVolumeName: volume,
  volumeID: "photos" as VolumeId,
  mountOptions: "",
  workloadFSGroup: "",
  mountpointS3PodAttachments: { [holder]: [{ workloadPodUID: uid, attachmentTime: "2026-01-15T10:30:00Z" }] },
  ...more,
});

it("finds the Mountpoint Pod for this volume among all that serve the workload", async () => {
  const attachments = new Attachments("");
  const others = [
    attachment({ persistentVolumeName: "another-pv" as PvName }, "mp-other-volume"),
    attachment({ volumeID: "before" as VolumeId }, "mp-before-the-volume-was-made-anew"),
    attachment({}, "mp-other-workload", "other-workload" as PodUid),
  ];
  for (const [index, spec] of others.entries()) attachments.store.put(`s3pa-${index}`, "1", spec);
  attachments.store.complete();
  const assigned = attachments.waitForAssignment(call, intentOf());
  attachments.store.put("s3pa-ours", "1", attachment({}, "mp-ours"));
  await expect(assigned).resolves.toBe("mp-ours" as PodName);
});
