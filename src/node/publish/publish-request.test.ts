import { expect, it } from "vitest";
import { storesWith } from "../../../test/support/fake-credentials.ts";
import { VolumeCapability_AccessMode_Mode as Mode, type NodePublishVolumeRequest } from "../../csi/gen/csi.ts";
import { publishIntentFrom, publishTargetFrom, refuseFallback } from "./publish-request.ts";

const uid = "a4509011-bd2a-4f37-b1b0-05d715087852";
const target = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~csi/photos-pv/mount`;

const capability = (mode: Mode, mount: object = {}): NodePublishVolumeRequest["volumeCapability"] => ({
  accessType: { $case: "mount", value: { fsType: "", mountFlags: [], volumeMountGroup: "", ...mount } },
  accessMode: { mode },
});

const request = (more: Partial<NodePublishVolumeRequest> = {}): NodePublishVolumeRequest => ({
  volumeId: "photos",
  publishContext: {},
  stagingTargetPath: "",
  targetPath: target,
  volumeCapability: capability(Mode.MULTI_NODE_MULTI_WRITER),
  readonly: false,
  secrets: {},
  volumeContext: { bucketName: "photos", "csi.storage.k8s.io/pod.uid": uid },
  ...more,
});

const intent = (more: Partial<NodePublishVolumeRequest> = {}) =>
  publishIntentFrom(
    { stores: storesWith(), podIdentity: false },
    publishTargetFrom("/var/lib/kubelet", request(more)),
    request(more),
  );

it("parses workload and volume from the path", () => {
  expect(intent({ targetPath: `${target}/`, volumeContext: { bucketName: "b" } })).toMatchObject({
    volumeId: "photos",
    target,
    workload: uid,
    persistentVolume: "photos-pv",
    attributes: { bucket: "b" },
    access: { source: "driver", store: "default" },
  });
});

it("takes options and group from the capability", () => {
  const volumeCapability = capability(Mode.SINGLE_NODE_WRITER, { mountFlags: ["uid=1"], volumeMountGroup: "2000" });
  expect(intent({ volumeCapability })).toMatchObject({ mountOptions: ["uid=1"], fsGroup: "2000", readOnly: false });
});

it.for([
  { mode: "MULTI_NODE_MULTI_WRITER", readonly: false, readOnly: false },
  { mode: "SINGLE_NODE_SINGLE_WRITER", readonly: false, readOnly: false },
  { mode: "SINGLE_NODE_WRITER", readonly: true, readOnly: true },
  { mode: "MULTI_NODE_READER_ONLY", readonly: false, readOnly: true },
  { mode: "SINGLE_NODE_READER_ONLY", readonly: false, readOnly: true },
] as const)("$mode, readonly $readonly → read-only: $readOnly", ({ mode, readonly, readOnly }) => {
  expect(intent({ volumeCapability: capability(Mode[mode]), readonly }).readOnly).toBe(readOnly);
});

it("reads keys and region from the volume's Secret, trimmed, and does not print the keys", () => {
  const secrets = {
    access_key_id: " id\n",
    secret_access_key: "hunter2\n",
    session_token: "token",
    region: "eu-west-1\n",
  };
  const own = intent({ secrets, volumeContext: { bucketName: "b", authenticationSource: "secret" } });
  const { accessKeyId, secretAccessKey, sessionToken } = own.access.source === "secret" ? own.access.credentials : {};
  expect(accessKeyId?.reveal()).toBe("id");
  expect(secretAccessKey?.reveal()).toBe("hunter2");
  expect(sessionToken?.reveal()).toBe("token");
  expect(own.region).toBe("eu-west-1");
  expect(JSON.stringify(own)).not.toMatch(/hunter2|token"/);
});

it("prefers the region of the volume to the one of its Secret", () => {
  const volumeContext = { bucketName: "b", authenticationSource: "secret", region: "here" };
  const secrets = { access_key_id: "id", secret_access_key: "s", region: "there" };
  expect(intent({ secrets, volumeContext }).region).toBe("here");
});

it.for([
  { source: "secret", secrets: {} },
  { source: "driver", secrets: { access_key_id: "id", secret_access_key: "hunter2" } },
])("uses the driver's keys: authenticationSource $source, secrets $secrets", ({ source, secrets }) => {
  const volumeContext = { bucketName: "b", authenticationSource: source };
  expect(intent({ secrets, volumeContext }).access).toEqual({ source: "driver", store: "default" });
});

it.for([
  { problem: "volume_id is required", more: { volumeId: "" } },
  { problem: "target_path is required", more: { targetPath: "" } },
  { problem: "is not a volume of a Pod under", more: { targetPath: "/somewhere/mount" } },
  { problem: "volume_capability with an access type is required", more: { volumeCapability: undefined } },
  {
    problem: "asks for a block device",
    more: {
      volumeCapability: { accessType: { $case: "block", value: {} }, accessMode: { mode: Mode.SINGLE_NODE_WRITER } },
    },
  },
  { problem: "access_mode is required", more: { volumeCapability: capability(Mode.UNKNOWN) } },
  {
    problem: "is not the id of a group",
    more: { volumeCapability: capability(Mode.SINGLE_NODE_WRITER, { volumeMountGroup: "wheel" }) },
  },
  { problem: "bucketName is required", more: { volumeContext: {} } },
  {
    problem: "but volume_context names Pod",
    more: { volumeContext: { bucketName: "b", "csi.storage.k8s.io/pod.uid": "x" } },
  },
  {
    problem: "secret_access_key in the Secret named by nodePublishSecretRef is missing",
    more: { secrets: { access_key_id: "id" }, volumeContext: { bucketName: "b", authenticationSource: "secret" } },
  },
] as const)("refuses: $problem", ({ problem, more }) => {
  expect(() => intent(more)).toThrow(
    expect.objectContaining({ kind: "invalid", message: expect.stringContaining(problem) }),
  );
});

const ownKeys = { access_key_id: "a", secret_access_key: "b" };
const ofSecret = { bucketName: "b", authenticationSource: "secret" };

it.for([
  { what: "names no Secret", more: {}, refused: false },
  { what: "brings its own keys", more: { volumeContext: ofSecret, secrets: ownKeys }, refused: false },
  { what: "must bring keys and does not", more: { volumeContext: ofSecret }, refused: true },
  { what: "brings keys that its authenticationSource does not use", more: { secrets: ownKeys }, refused: true },
])("a volume that $what is refused where the driver's keys may not stand in: $refused", ({ more, refused }) => {
  let kind: unknown;
  try {
    refuseFallback(intent(more), request(more));
  } catch (error) {
    ({ kind } = error as { kind: string });
  }
  expect(kind).toBe(refused ? "invalid" : undefined);
});
