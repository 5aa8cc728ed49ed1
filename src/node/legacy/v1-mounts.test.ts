import { afterEach, beforeEach, expect, it } from "vitest";
import {
  call,
  FakeNode,
  intentOf,
  keysOf,
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

/** As 1.x leaves it: mount-s3 on the host serves the target itself. */
function mountOf1x(at: string): void {
  node.kernel.makeDirectory(at);
  using device = node.kernel.openFuse();
  node.kernel.mountFuse(device, at);
  node.kernel.server(at, "serving");
}

it("leaves a mount of 1.x as it is, also when it should be read-only, and renews its keys", async () => {
  node.knows(undefined);
  mountOf1x(target);
  const { table } = node.kernel;
  await publish(call, node.parts, intentOf(workload, { readOnly: true }));
  expect(node.kernel.table).toBe(table);
  expect([...node.v1Files]).toEqual([workload]);

  unpublish(call, node.parts, { volumeId: "photos", targetPath: target });
  expect([...node.v1Files]).toEqual([]);
});

it("writes no file for one whose keys are its volume's own", async () => {
  node.knows(undefined);
  mountOf1x(target);
  await publish(call, node.parts, intentOf(workload, { keys: keysOf("volume") }));
  expect([...node.v1Files]).toEqual([]);
});

it("says what to do about one that is dead, instead of waiting for a Mountpoint Pod", async () => {
  node.knows(undefined);
  mountOf1x(target);
  node.kernel.server(target, "dead");
  await expect(publish(call, node.parts, intentOf())).rejects.toMatchObject({
    kind: "notReady",
    message: expect.stringContaining("the mount-s3 that the driver 1.x started has ended"),
    hint: expect.stringContaining("Delete the Pod"),
  });
});

it("does not take an ordinary mount for one of 1.x, not even without its source", async () => {
  node.knows(podOf(), workload);
  await publish(call, node.parts, intentOf());
  await publish(call, node.parts, intentOf());
  node.kernel.unmount(source);
  await publish(call, node.parts, intentOf());
  expect([...node.v1Files]).toEqual([]);
});

it("does not take a mount for one of 1.x before the attachments are known", async () => {
  mountOf1x(target);
  await publish(call, node.parts, intentOf());
  expect([...node.v1Files]).toEqual([]);
});

it("removes the files that belong to no mount of 1.x", async () => {
  node.knows(podOf(), otherWorkload);
  mountOf1x(target);
  await publish(call, node.parts, intentOf(otherWorkload));
  expect(node.kernel.at(targetOf(otherWorkload))).toBeDefined();
  node.v1Files.add(workload).add(otherWorkload);
  await removeUnusedV1Files(call, node.parts);
  expect([...node.v1Files]).toEqual([workload]);
});
