import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { driverAccess, secretAccess } from "../../../test/support/fake-credentials.ts";
import {
  call,
  credentialsOf,
  dies,
  FakeNode,
  intentOf,
  mountpointPod,
  otherWorkload,
  podOf,
  source,
  target,
  targetOf,
  workload,
} from "../../../test/support/fake-node.ts";
import { defaultStore } from "../../core/stores/store.ts";
import { parseVolumeAttributes } from "../../core/volume/volume-attributes.ts";
import { publish } from "./publish.ts";
import { unpublish } from "./unpublish.ts";

let node: FakeNode;

beforeEach(() => {
  vi.useFakeTimers();
  node = new FakeNode();
});

afterEach(() => {
  node[Symbol.dispose]();
  vi.useRealTimers();
});

const publishOne = (intent = intentOf()) => publish(call, node.rooms.publishing, intent);
const nothing = { mounts: [], devices: 0, openConnections: 0 };

it("publishes a volume of a read-only Mountpoint Pod read-only, although the request is writable", async () => {
  node.knows(podOf({ readOnly: true }), workload);
  await publishOne();
  expect(node.kernel.at(target)).toMatchObject({ device: "mountpoint-s3", readOnly: true });
  expect(node.kernel.at(source)).toMatchObject({ readOnly: false });
});

it("binds the device of the source to the target, and keeps the connection that reports the death of mount-s3", async () => {
  node.knows(podOf(), workload);
  await publishOne();
  expect(node.kernel.at(target)).toMatchObject({ device: "mountpoint-s3", readOnly: false });
  expect(node.kernel.at(target)?.deviceId).toBe(node.kernel.at(source)?.deviceId);
  expect(node.traces).toEqual({ mounts: [source, target], devices: 0, openConnections: 1 });
});

it("sends the bucket, options and an environment without keys", async () => {
  node.knows(podOf(), workload);
  await publishOne(intentOf(workload, { mountOptions: ["allow-delete", "aws-max-attempts 5"], fsGroup: "2000" }));
  expect(node.requests).toEqual([
    {
      bucketName: "photos",
      args: [
        "--allow-delete",
        "--allow-other",
        "--dir-mode=770",
        "--file-mode=660",
        "--force-path-style",
        "--gid=2000",
        "--user-agent-prefix=s3-csi-driver/3.0.0 credential-source#driver k8s/v1.36.3",
      ],
      env: [
        "AWS_MAX_ATTEMPTS=5",
        expect.stringMatching(/^MOUNTPOINT_LOG=warn,/),
        "AWS_ENDPOINT_URL=http://s3",
        "AWS_REGION=us-east-1",
        "AWS_EC2_METADATA_DISABLED=true",
        "AWS_PROFILE=s3-csi",
        "AWS_CONFIG_FILE=/comm/credentials/s3-csi-config",
        "AWS_SHARED_CREDENTIALS_FILE=/comm/credentials/s3-csi-credentials",
      ],
    },
  ]);
  expect(node.credentialFiles.get("s3-csi-keys")).toBe('"AccessKeyId":"driver-id","SecretAccessKey":"driver-secret"\n');
});

it("blocks the unmount of the source until the target is bound", async () => {
  node.knows(podOf(), workload);
  const { registry } = node.rooms.sources;
  let held = false;
  node.kernel.faults.set("bind", () => {
    held = registry.isPublishing(mountpointPod);
  });
  await publishOne();
  expect(held).toBe(true);
  expect(registry.isPublishing(mountpointPod)).toBe(false);
});

it("adds no workload to a source that needs unmount", async () => {
  node.knows(podOf(), workload, otherWorkload);
  await publishOne();
  node.put(podOf({ needsUnmount: true }));
  await expect(publishOne(intentOf(otherWorkload))).rejects.toThrow("is being unmounted");
  expect(node.traces.mounts).toEqual([source, target]);
});

it("does not change the identity of a mount in a repeated call", async () => {
  node.knows(podOf(), workload);
  await publishOne();
  const written = node.writes;
  await expect(publishOne(intentOf(workload, { access: secretAccess(credentialsOf("volume")) }))).rejects.toThrow(
    "uses the keys of",
  );
  expect(node.writes).toBe(written);
});

it("makes the target of one workload read-only, and keeps that of another one writable", async () => {
  node.knows(podOf(), workload, otherWorkload);
  await publishOne(intentOf(workload, { readOnly: true }));
  await publishOne(intentOf(otherWorkload));
  expect(node.kernel.at(target)?.readOnly).toBe(true);
  expect(node.kernel.at(targetOf(otherWorkload))?.readOnly).toBe(false);
  expect(node.requests).toHaveLength(1);
});

it("makes a target read-only that 2.x left writable", async () => {
  node.knows(podOf(), workload);
  await publishOne();
  await publishOne(intentOf(workload, { mountOptions: ["read-only"] }));
  expect(node.kernel.at(target)?.readOnly).toBe(true);
});

it("repeats without an API server, writes new keys, and changes nothing else", async () => {
  const pod = podOf({ identity: "secret:default/keys" });
  node.knows(pod, workload);
  await publishOne(intentOf(workload, { access: secretAccess(credentialsOf("old")) }));
  const { table } = node.kernel;
  node.cluster.attachments.store.remove("s3pa-1");
  const written = node.writes;

  await publishOne(intentOf(workload, { access: secretAccess(credentialsOf("old")) }));
  expect(node.writes).toBe(written);
  await publishOne(intentOf(workload, { access: secretAccess(credentialsOf("new")) }));
  expect(node.writes).toBe(written + 1);
  expect(node.credentialFiles.get("s3-csi-keys")).toContain("new-secret");
  expect(node.kernel.table).toBe(table);
  expect(node.requests).toHaveLength(1);
});

it("MP-4 keeps a mount that serves with a pid namespace that is no longer offered, and writes new credentials to it", async () => {
  node.knows(podOf({ identity: "secret:default/keys" }), workload);
  const attributes = parseVolumeAttributes({ bucketName: "photos", mountPidNamespace: "host" });
  const { settings } = node.rooms.publishing;
  Object.assign(settings, { pidNamespaces: { ...settings.pidNamespaces, inHostPids: true } });
  await publishOne(intentOf(workload, { attributes, access: secretAccess(credentialsOf("old")) }));
  Object.assign(settings, { pidNamespaces: { ...settings.pidNamespaces, inHostPids: false } });
  await publishOne(intentOf(workload, { attributes, access: secretAccess(credentialsOf("new")) }));
  expect(node.credentialFiles.get("s3-csi-keys")).toContain("new-secret");
});

it.for([
  { identity: "driver", access: secretAccess(credentialsOf("volume")) },
  { identity: "secret:default/keys", access: driverAccess },
  { identity: "driver@minio", access: driverAccess },
  { identity: "secret:default/keys@minio", access: secretAccess(credentialsOf("volume")) },
  { identity: "pod:a/app", access: driverAccess },
])("never gives keys to a mount of $identity that has others", async ({ identity, access }) => {
  node.knows(podOf({ identity }), workload);
  await expect(publishOne(intentOf(workload, { access }))).rejects.toThrow("uses the keys of");
  expect(node.credentialFiles.size).toBe(0);
  expect(node.traces).toEqual(nothing);
});

it("ID-1 a session goes to no Mountpoint Pod without an account, such as one of 2.x with workloads of several", async () => {
  const account = { namespace: "team-a", name: "reader" };
  const access = { source: "pod", store: defaultStore, account, role: undefined } as const;
  node.knows(podOf({ identity: undefined }), workload);
  await expect(publishOne(intentOf(workload, { access }))).rejects.toThrow("of 2.x names no service account");
  expect(node.credentialFiles.size).toBe(0);
  expect(node.traces).toEqual(nothing);
});

it("PR-10 an empty Secret is refused by name, and the keys of the driver are not used", async () => {
  node.knows(podOf({ identity: "secret:default/keys" }), workload);
  const attributes = parseVolumeAttributes({ bucketName: "b", authenticationSource: "secret" });
  await expect(publishOne(intentOf(workload, { attributes }))).rejects.toMatchObject({
    kind: "invalid",
    message: expect.stringContaining("access_key_id in Secret default/keys is missing or empty"),
  });
  expect(node.credentialFiles.size).toBe(0);
  expect(node.traces).toEqual(nothing);
});

it("returns an error if the driver has no keys", async () => {
  node[Symbol.dispose]();
  node = new FakeNode({ driverCredentials: undefined }).knows(podOf(), workload);
  await expect(publishOne()).rejects.toThrow("the driver has no keys of its own");
  expect(node.traces).toEqual(nothing);
});

it("refuses a second call for the same target and continues the first", async () => {
  node.knows(podOf(), workload);
  node.listens = false;
  const first = publishOne();
  await expect(publishOne()).rejects.toMatchObject({ kind: "busy" });
  node.listens = true;
  await vi.advanceTimersByTimeAsync(100);
  await first;
});

it("sends one request for workloads that share a source, and returns its result to all", async () => {
  node.knows(podOf(), workload, otherWorkload);
  node.listens = false;
  node.behaviour = dies;
  const both = Promise.allSettled([publishOne(), publishOne(intentOf(otherWorkload))]);
  node.listens = true;
  await vi.advanceTimersByTimeAsync(15_000);
  const reasons = (await both).map((result) => result.status === "rejected" && String(result.reason));
  expect(reasons).toEqual([
    expect.stringContaining(`at "${target}": mount-s3 exited`),
    expect.stringContaining(`at "${targetOf(otherWorkload)}": mount-s3 exited`),
  ]);
  expect(node.requests).toHaveLength(1);
});

it("mounts for the second workload when the call of the first is cancelled", async () => {
  node.knows(podOf(), workload, otherWorkload);
  node.listens = false;
  const leave = new AbortController();
  const first = publish({ ...call, signal: leave.signal }, node.rooms.publishing, intentOf());
  const second = publishOne(intentOf(otherWorkload));
  await vi.advanceTimersByTimeAsync(100);
  leave.abort(new Error("kubelet left"));
  await expect(first).rejects.toThrow("kubelet left");
  node.startsListening();
  await vi.advanceTimersByTimeAsync(100);
  await second;
  expect(node.kernel.at(targetOf(otherWorkload))).toBeDefined();
});

it("covers a dead mount at the target, and unpublishing unmounts both", async () => {
  node.knows(podOf(), workload);
  await publishOne();
  const dead = node.kernel.at(target)?.deviceId;
  node.kernel.server(source, "dead");
  node.hangUp();
  node.listens = true;
  await publishOne();
  expect(node.kernel.table.filter(({ mountPoint }) => mountPoint === target)).toHaveLength(2);
  expect(node.kernel.at(target)?.deviceId).not.toBe(dead);

  unpublish(call, node.rooms.publishing, { volumeId: "photos", targetPath: target });
  expect(node.traces.mounts).toEqual([source]);
  expect(node.kernel.directories).not.toContain(target);
});

it("does not change a hung mount, and returns an error", async () => {
  node.knows(podOf(), workload);
  await publishOne();
  node.kernel.server(source, "hung");
  await Promise.all([
    expect(publishOne()).rejects.toMatchObject({
      message: expect.stringContaining("mount-s3 does not answer"),
      hint: expect.stringContaining(mountpointPod),
    }),
    vi.advanceTimersByTimeAsync(10_000),
  ]);
  expect(node.traces.mounts).toEqual([source, target]);
});
