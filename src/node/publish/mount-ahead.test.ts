import { expect, it } from "vitest";
import { driverAccess, storesWith } from "../../../test/support/fake-credentials.ts";
import type { PodName, PodUid, PvName, VolumeId } from "../../core/names.ts";
import type { PersistentVolume } from "../../kube/kinds.ts";
import type { LocalAttachment } from "../cluster/attachments.ts";
import { requestAhead } from "./mount-ahead.ts";
import { publishIntentFrom, publishTargetFrom } from "./publish-request.ts";

const name = `mp-warm-${"0".repeat(40)}` as PodName;
const workload = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;

const attachment = {
  ...{ name: "s3pa-1", uid: "uid", status: {}, unschedulable: undefined },
  ...{ nodeName: "worker-1", persistentVolumeName: "data" as PvName, volumeID: "handle" as VolumeId },
  ...{ mountOptions: "allow-delete,prefix a/", workloadFSGroup: "1000" },
  mountpointS3PodAttachments: { [name]: [{ workloadPodUID: workload, attachmentTime: "2026-01-15T10:00:00Z" }] },
} as unknown as LocalAttachment;

const installation = { stores: storesWith(), podIdentity: false };

const csi = {
  driver: "s3.csi.scality.com",
  volumeHandle: "handle",
  volumeAttributes: { bucketName: "photos", region: "eu" },
};

function volume(but: object = {}, mountOptions = ["allow-delete", "prefix a/"]): PersistentVolume {
  const metadata = { name: "data", uid: "uid-of-data", resourceVersion: "1", creationTimestamp: "" };
  return { metadata, spec: { csi: { ...csi, ...but }, mountOptions } };
}

it("WM-1 asks for what kubelet is about to ask for", () => {
  const request = requestAhead("/var/lib/kubelet", attachment, name, volume());
  if (request === undefined) throw new Error("nothing is asked for");
  expect(publishIntentFrom(installation, publishTargetFrom("/var/lib/kubelet", request), request)).toMatchObject({
    ...{ workload, persistentVolume: "data", volumeId: "handle", region: "eu", fsGroup: "1000" },
    ...{ mountOptions: ["allow-delete", "prefix a/"], access: driverAccess },
    attributes: { bucket: "photos" },
  });
});

it.for<[string, PersistentVolume]>([
  ["whose keys come with kubelet's call", volume({ nodePublishSecretRef: { namespace: "shop", name: "keys" } })],
  [
    "that asks for keys of its own",
    volume({ volumeAttributes: { ...csi.volumeAttributes, authenticationSource: "secret" } }),
  ],
  ["whose options were edited since", volume({}, ["allow-delete"])],
  ["that is another one of the same name", volume({ volumeHandle: "other" })],
])("WM-1 leaves a volume to kubelet's call %s", ([, changed]) => {
  expect(requestAhead("/var/lib/kubelet", attachment, name, changed)).toBeUndefined();
});

it("WM-1 leaves a Mountpoint Pod to kubelet's call whose workload has left", () => {
  const left = { ...attachment, mountpointS3PodAttachments: { [name]: [] } };
  expect(requestAhead("/var/lib/kubelet", left, name, volume())).toBeUndefined();
});
