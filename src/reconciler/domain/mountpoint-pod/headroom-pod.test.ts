import { expect, it } from "vitest";
import { plainStores } from "../../../../test/support/fake-credentials.ts";
import type { PodUid } from "../../../core/names.ts";
import { type S3Volume, s3VolumeFrom } from "../persistent-volume.ts";
import { type ReservingPod, reservationFrom } from "../reservation.ts";
import { workloadFrom } from "../workload.ts";
import { type HeadroomConfig, headroomPod, headroomPodFrom } from "./headroom-pod.ts";
import { installation } from "./installation.fixture.ts";

const uid = "a4509011-bd2a-4f37-b1b0-05d715087852" as PodUid;
const config: HeadroomConfig = {
  enabled: true,
  image: "pause:3",
  imagePullPolicy: "IfNotPresent",
  command: [],
  priorityClassName: "mount-s3-headroom",
};
const workload = { uid, name: "app", namespace: "shop", claims: ["c"], createdAt: new Date(0) };
const reservation = { ...workload, gated: true, otherGates: [], labelled: true };

function volumeWith(volumeAttributes: Readonly<Record<string, string>> = {}, name = "test-vol"): S3Volume {
  const csi = {
    driver: "s3.csi.scality.com",
    volumeHandle: "h",
    volumeAttributes: { bucketName: "b", ...volumeAttributes },
  };
  return s3VolumeFrom(plainStores, { metadata: { name }, spec: { csi } }) as S3Volume;
}

it("has the hash of its Mountpoint Pod in its name, and the reserved labels", () => {
  const { metadata } = headroomPod(config, installation, reservation, volumeWith());
  expect(metadata).toMatchObject({
    name: "hr-55f7d2331f3149f00d62d7af839d4cee895e1c68a2f0d96ffd359f79",
    namespace: "mount-s3",
    labels: { "s3.csi.scality.com/headroom-for-pod": uid, "s3.csi.scality.com/headroom-for-volume": "test-vol" },
  });
});

it("requests as much as the Mountpoint Pod, on the node of the workload, with the lowest priority", () => {
  const volume = volumeWith({ mountpointContainerResourcesRequestsCpu: "250m" });
  const { spec } = headroomPod(config, installation, reservation, volume);
  expect(spec.containers[0].resources.requests).toEqual({ cpu: "250m", memory: "32Mi" });
  expect(spec.priorityClassName).toBe("mount-s3-headroom");
  expect(spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution).toEqual([
    {
      topologyKey: "kubernetes.io/hostname",
      namespaces: ["shop"],
      labelSelector: { matchLabels: { "s3.csi.scality.com/headroom-for-workload": uid } },
    },
  ]);
  expect(spec.containers[0]).not.toHaveProperty("command");
});

it("is recognised by name and label, also when the name of its volume is too long for a label", () => {
  const made = headroomPod(config, installation, reservation, volumeWith({}, "x".repeat(80)));
  const object = { metadata: { ...made.metadata, uid: "u" } };
  expect(headroomPodFrom(object)).toMatchObject({ workload: uid, ended: false, terminating: false });
  expect(headroomPodFrom({ ...object, status: { phase: "Failed" } })?.ended).toBe(true);
  expect(headroomPodFrom({ metadata: { ...object.metadata, name: "hr-mine" } })).toBeUndefined();
  expect(headroomPodFrom({ metadata: { ...object.metadata, labels: {} } })).toBeUndefined();
});

const gate = { name: "s3.csi.scality.com/reserve-headroom-for-mppod" };
const labels = { "s3.csi.scality.com/headroom-for-workload": uid };

function pod(spec: object, metadata: object = {}, status: object = { phase: "Pending" }): ReservingPod {
  const birth = { uid, name: "app", namespace: "shop", creationTimestamp: "2026-01-15T10:00:00Z" };
  return { metadata: { ...birth, ...metadata }, spec, status };
}

const reserved = (object: ReservingPod) => reservationFrom(object, workloadFrom(object));

it("a workload reserves headroom with the gate of this driver; other gates are kept", () => {
  const found = reserved(pod({ schedulingGates: [{ name: "example.com/other" }, gate] }));
  expect(found).toMatchObject({ gated: true, labelled: false, otherGates: ["example.com/other"] });
  expect(reserved(pod({ schedulingGates: [{ name: "example.com/other" }] }))).toBeUndefined();
});

it("a workload without the gate is recognised by the label of this driver, until it runs or ends", () => {
  expect(reserved(pod({}, { labels }))).toMatchObject({ gated: false, labelled: true });
  expect(reserved(pod({}, { labels: { ...labels, [Object.keys(labels)[0] ?? ""]: "another" } }))).toBeUndefined();
  expect(reserved(pod({}, { labels }, { phase: "Running" }))).toBeUndefined();
  expect(reserved(pod({}, { labels }, { phase: "Failed" }))).toBeUndefined();
  const deletionTimestamp = "2026-01-15T10:00:00Z";
  expect(reserved(pod({ schedulingGates: [gate] }, { deletionTimestamp }))).toBeUndefined();
});
