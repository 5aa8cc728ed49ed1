import { afterEach, beforeEach, expect, it } from "vitest";
import { secretAccess } from "../../../test/support/fake-credentials.ts";
import { FakeHealing } from "../../../test/support/fake-healing.ts";
import {
  call,
  credentialsOf,
  dies,
  hangs,
  intentOf,
  kubeletDir,
  mountpointPod,
  otherWorkload,
  podOf,
  source,
  target,
  workload,
} from "../../../test/support/fake-node.ts";
import { mountpointPodName, type PodUid } from "../../core/names.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import { sourcePath } from "../domain/target-path.ts";
import { publish } from "../publish/publish.ts";
import { unpublish } from "../publish/unpublish.ts";

const soon = { timeout: 10_000, interval: 5 };
const successor = mountpointPodName(workload, podOf().persistentVolume, 1);

let healing: FakeHealing;

beforeEach(() => {
  healing = new FakeHealing();
});

afterEach(() => healing[Symbol.asyncDispose]());

it("mounts from the record as soon as the mounter listens, and gives the new mount to the workload", async () => {
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  const before = healing.node.kernel.at(target)?.deviceId;
  healing.death();
  await expect.poll(() => healing.rooms.sources.registry.dead.isKnown(before ?? fuseDevice(-1)), soon).toBe(true);
  healing.node.startsListening();
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod, targets: [target] }]);
  expect(healing.node.requests[1]).toEqual(healing.node.requests[0]);
  expect(healing.node.kernel.at(target)?.deviceId).toBe(healing.node.kernel.at(source)?.deviceId);
  expect(healing.node.kernel.at(target)?.deviceId).not.toBe(before);
  expect(healing.rooms.sources.registry.dead.isKnown(before ?? fuseDevice(-1))).toBe(false);
  expect(healing.delayed).toEqual([]);
});

it("finds a mount at its start that died before, and mounts from the record on the tmpfs", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  healing.restartedAfterDeath();
  healing.node.listens = true;
  healing.start();
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod }]);
});

it("reports that it waits for kubelet if there is no record, and heals with kubelet's call", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  healing.rooms.records.mounts.dropUser(target);
  healing.rooms.records.mounts.remove(mountpointPod);
  healing.restartedAfterDeath();
  healing.start();
  await expect
    .poll(() => healing.reasons(), soon)
    .toContainEqual(expect.stringContaining("has no record of the options of this mount"));
  healing.node.listens = true;
  await publish(call, healing.rooms.publishing, intentOf());
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod }]);
  expect(healing.node.kernel.table.filter(({ mountPoint }) => mountPoint === target)).toHaveLength(1);
});

it("records a mount of an earlier node plugin in kubelet's repeated call", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  healing.forget();
  await publish(call, healing.rooms.publishing, intentOf());
  expect(healing.rooms.records.mounts.get(mountpointPod)?.request.bucketName).toBe("photos");
  expect(healing.rooms.records.mounts.userAt(target)).toMatchObject({
    namespace: "default",
    name: "app",
    uid: workload,
  });
});

it("follows the workload to another Mountpoint Pod, with the keys of the volume", async () => {
  healing.node.put(podOf({ identity: "secret:default/keys" }));
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf(workload, { access: secretAccess(credentialsOf("own")) }));
  healing.node.put(podOf({ identity: "secret:default/keys", phase: "failed", explanation: "Evicted" }));
  healing.death();
  await expect
    .poll(() => healing.reasons(), soon)
    .toContainEqual(expect.stringContaining("has ended (failed: Evicted)"));
  healing.node.credentialFiles.clear();
  healing.node.put(podOf({ name: successor, uid: "new" as PodUid, identity: "secret:default/keys" }));
  healing.node.listens = true;
  assignTo(successor);
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod: successor }]);
  expect([...healing.node.credentialFiles.values()].join("")).toContain("own-secret");
  expect(healing.node.kernel.at(target)?.deviceId).toBe(
    healing.node.kernel.at(sourcePath(kubeletDir, successor))?.deviceId,
  );
  expect(healing.rooms.records.mounts.holderOf(target)).toBe(successor);
  // The unmount loop skipped both sources during the heal.
  const { unmounts } = healing.rooms.sources;
  expect([await unmounts.take(call), await unmounts.take(call)].toSorted()).toEqual(
    [mountpointPod, successor].toSorted(),
  );
});

it("records options and users of a successor whose start outlasts one attempt", async () => {
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  const third = mountpointPodName(workload, podOf().persistentVolume, 2);
  for (const name of [successor, third]) healing.node.put(podOf({ name, uid: name as unknown as PodUid }));
  healing.node.behaviour = hangs;
  healing.node.listens = true;
  assignTo(successor);
  healing.death();
  await expect.poll(() => healing.node.requests.length, soon).toBe(2);
  // The attempt ends while mount-s3 starts, and the mount stays.
  assignTo(third);
  await expect.poll(() => healing.reasons(), soon).toContainEqual(expect.stringContaining("replaced by another one"));
  healing.node.kernel.server(sourcePath(kubeletDir, successor), "serving");
  assignTo(successor);
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod: successor, targets: [target] }]);
  expect(healing.rooms.records.mounts.get(successor)?.request.bucketName).toBe("photos");
  expect(healing.rooms.records.mounts.userAt(target)).toMatchObject({ name: "app", uid: workload });
});

it("never gives keys to a Mountpoint Pod of another identity", async () => {
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  healing.node.put(podOf({ name: successor, uid: "new" as PodUid, identity: "secret:default/keys" }));
  assignTo(successor);
  healing.node.listens = true;
  healing.death();
  await expect
    .poll(() => healing.reasons(), soon)
    .toContainEqual(expect.stringContaining("uses other keys than the dead mount"));
  expect(healing.node.requests).toHaveLength(1);
});

it("retries after mount-s3 failed to start, and reports the reason", async () => {
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  healing.node.behaviour = (of, device) => {
    dies(of, device);
    const lastTermination = {
      exitCode: 1,
      message: "Error: bucket does not exist",
      finishedAt: "2999-01-01T00:00:00Z",
    };
    healing.node.put(podOf({ lastTermination }));
  };
  healing.node.listens = true;
  healing.death();
  await expect.poll(() => healing.reasons(), soon).toContainEqual(expect.stringContaining("bucket does not exist"));
  healing.node.behaviour = (of, device) => of.kernel.server(device, "serving");
  healing.node.startsListening();
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod }]);
});

it("heals a sub-path whose target works", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  const part = `${kubeletDir}/pods/${workload}/volume-subpaths/${podOf().persistentVolume}/app/0`;
  const mount = healing.node.kernel.at(target);
  if (mount === undefined) throw new Error("nothing is mounted");
  const deviceId = fuseDevice(4000);
  healing.node.kernel.table = [...healing.node.kernel.table, { ...mount, mountPoint: part, deviceId }];
  healing.rooms.sources.registry.dead.notice({ deviceId, mountPoint: part }, undefined);
  healing.start();
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod, targets: [target] }]);
  expect(healing.node.kernel.at(part)?.deviceId).toBe(healing.node.kernel.at(source)?.deviceId);
});

it("follows the attachment of one workload although a terminating one has none any more", async () => {
  healing.node.knows(podOf(), workload, otherWorkload);
  await publish(call, healing.rooms.publishing, intentOf());
  await publish(call, healing.rooms.publishing, intentOf(otherWorkload));
  healing.start();
  healing.node.knows(podOf({ phase: "failed", explanation: "Evicted" }), otherWorkload);
  healing.node.put(podOf({ name: successor, uid: "new" as PodUid }));
  assignTo(successor);
  healing.node.listens = true;
  healing.death();
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod: successor }]);
  expect(healing.node.kernel.at(target)?.deviceId).toBe(
    healing.node.kernel.at(sourcePath(kubeletDir, successor))?.deviceId,
  );
});

it("stops healing a dead mount that is unpublished", async () => {
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf());
  const deviceId = healing.node.kernel.at(target)?.deviceId ?? fuseDevice(-1);
  healing.node.put(podOf({ phase: "failed" }));
  healing.death();
  await expect.poll(() => healing.delayed.length, soon).toBeGreaterThan(0);
  unpublish(call, healing.rooms.publishing, { volumeId: "photos", targetPath: target });
  await expect.poll(() => healing.rooms.sources.registry.dead.isKnown(deviceId), soon).toBe(false);
  expect(healing.healed).toEqual([]);
});

it("stays with the former Mountpoint Pod where neither an attachment nor a record names one", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  healing.start();
  healing.node.cluster.attachments.store.remove("s3pa-1");
  healing.rooms.records.mounts.dropUser(target);
  healing.node.listens = true;
  healing.death();
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod, targets: [target] }]);
});

it("needs no record of a source that serves again", async () => {
  await publish(call, healing.rooms.publishing, intentOf());
  const lost = healing.node.kernel.at(target)?.deviceId ?? fuseDevice(-1);
  const again = fuseDevice(4000);
  healing.node.kernel.table = healing.node.kernel.table.map((mount) =>
    mount.mountPoint === source ? { ...mount, deviceId: again } : mount,
  );
  healing.node.kernel.server(source, "serving");
  healing.rooms.records.mounts.dropUser(target);
  healing.rooms.records.mounts.remove(mountpointPod);
  healing.rooms.sources.registry.dead.notice({ deviceId: lost, mountPoint: target }, mountpointPod);
  healing.start();
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod, targets: [target] }]);
  expect(healing.node.requests).toHaveLength(1);
});

it("LC-1 starts a Mountpoint Pod of 2.x again, which names no identity, with the credentials of the volume", async () => {
  healing.node.put(podOf({ identity: undefined }));
  healing.start();
  await publish(call, healing.rooms.publishing, intentOf(workload, { access: secretAccess(credentialsOf("own")) }));
  healing.death();
  healing.node.startsListening();
  await expect.poll(() => healing.healed, soon).toMatchObject([{ mountpointPod }]);
  expect(healing.node.requests).toHaveLength(2);
});

let version = 1000;

function assignTo(name: typeof mountpointPod): void {
  const { store } = healing.node.cluster.attachments;
  const spec = store.get("s3pa-1");
  if (spec === undefined) throw new Error("there is no attachment");
  const served = Object.values(spec.mountpointS3PodAttachments).flat();
  version += 1;
  store.put("s3pa-1", String(version), { ...spec, mountpointS3PodAttachments: { [name]: served } });
}
