import { afterEach, beforeEach, expect, it } from "vitest";
import {
  call,
  FakeNode,
  intentOf,
  mountpointPod,
  podOf,
  source,
  target,
  workload,
} from "../../../test/support/fake-node.ts";
import { publish } from "./publish.ts";
import { unpublish } from "./unpublish.ts";

let node: FakeNode;

beforeEach(() => {
  node = new FakeNode().knows(podOf(), workload);
});

afterEach(() => node[Symbol.dispose]());

const unpublishOne = (targetPath = target) =>
  unpublish(call, node.rooms.publishing, { volumeId: "photos", targetPath });

it("removes the target, leaves the source, and queues the source for the unmount loop", async () => {
  await publish(call, node.rooms.publishing, intentOf());
  unpublishOne();
  expect(node.traces.mounts).toEqual([source]);
  expect(node.kernel.directories).not.toContain(target);
  await expect(node.rooms.sources.unmounts.take(call)).resolves.toBe(mountpointPod);
});

it("succeeds for a missing target and for a target without a mount", () => {
  unpublishOne();
  node.kernel.makeDirectory(target);
  unpublishOne();
  expect(node.kernel.directories).not.toContain(target);
});

it("does not delete a file in an unmounted target", () => {
  node.kernel.makeDirectory(target);
  node.kernel.files.add(`${target}/report.txt`);
  expect(() => unpublishOne()).toThrow("holds files on the node's own disk");
  expect(node.kernel.files).toContain(`${target}/report.txt`);
});

it.for([
  { request: { volumeId: "", targetPath: target }, refusal: "volume_id is required" },
  { request: { volumeId: "photos", targetPath: "" }, refusal: "target_path is required" },
  { request: { volumeId: "photos", targetPath: "/etc" }, refusal: "target path /etc is not a volume of a Pod" },
])("refuses with: $refusal", ({ request, refusal }) => {
  expect(() => unpublish(call, node.rooms.publishing, request)).toThrow(refusal);
});

it("is refused during a publish of the same target", () => {
  using _publishing = node.rooms.publishing.inFlight.enter(target);
  expect(() => unpublishOne()).toThrow("already running");
});
