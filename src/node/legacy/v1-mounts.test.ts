import { afterEach, beforeEach, expect, it } from "vitest";
import { secretAccess } from "../../../test/support/fake-credentials.ts";
import {
  call,
  credentialsOf,
  FakeNode,
  intentOf,
  otherWorkload,
  podOf,
  source,
  target,
  targetOf,
  workload,
} from "../../../test/support/fake-node.ts";
import { publish } from "../publish/publish.ts";
import { unpublish } from "../publish/unpublish.ts";
import { removeUnusedV1Files } from "./v1-mounts.ts";

let node: FakeNode;

beforeEach(() => {
  node = new FakeNode();
});

afterEach(() => node[Symbol.dispose]());

/** A mount of 1.x: mount-s3 on the host serves the target directly. */
function mountOf1x(at: string): void {
  node.kernel.makeDirectory(at);
  using device = node.kernel.openFuse();
  node.kernel.mountFuse(device, at);
  node.kernel.server(at, "serving");
}

it("does not change a mount of 1.x, even if it should be read-only, and renews its keys", async () => {
  node.knows(undefined);
  mountOf1x(target);
  const { table } = node.kernel;
  await publish(call, node.rooms.publishing, intentOf(workload, { readOnly: true }));
  expect(node.kernel.table).toBe(table);
  expect([...node.v1Files]).toEqual([workload]);

  unpublish(call, node.rooms.publishing, { volumeId: "photos", targetPath: target });
  expect([...node.v1Files]).toEqual([]);
});

it("writes no file for a volume with its own keys", async () => {
  node.knows(undefined);
  mountOf1x(target);
  await publish(call, node.rooms.publishing, intentOf(workload, { access: secretAccess(credentialsOf("volume")) }));
  expect([...node.v1Files]).toEqual([]);
});

it("returns a hint for a dead mount of 1.x instead of waiting for a Mountpoint Pod", async () => {
  node.knows(undefined);
  mountOf1x(target);
  node.kernel.server(target, "dead");
  await expect(publish(call, node.rooms.publishing, intentOf())).rejects.toMatchObject({
    kind: "notReady",
    message: expect.stringContaining("the mount-s3 that the driver 1.x started has ended"),
    hint: expect.stringContaining("Delete the Pod"),
  });
});

it("does not treat an attached mount as one of 1.x, even if its source is unmounted", async () => {
  node.knows(podOf(), workload);
  await publish(call, node.rooms.publishing, intentOf());
  await publish(call, node.rooms.publishing, intentOf());
  node.kernel.unmount(source);
  await publish(call, node.rooms.publishing, intentOf());
  expect([...node.v1Files]).toEqual([]);
});

it("does not treat a mount as one of 1.x before the attachments are listed", async () => {
  mountOf1x(target);
  await publish(call, node.rooms.publishing, intentOf());
  expect([...node.v1Files]).toEqual([]);
});

it("removes the files that belong to no mount of 1.x", async () => {
  node.knows(podOf(), otherWorkload);
  mountOf1x(target);
  await publish(call, node.rooms.publishing, intentOf(otherWorkload));
  expect(node.kernel.at(targetOf(otherWorkload))).toBeDefined();
  node.v1Files.add(workload).add(otherWorkload);
  await removeUnusedV1Files(call, node.v1, node.mounts);
  expect([...node.v1Files]).toEqual([workload]);
});
