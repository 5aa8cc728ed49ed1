import { beforeEach, expect, it } from "vitest";
import { call, FakeNode, intentOf, podOf, source, target, workload } from "../../../test/support/fake-node.ts";
import { OrphanedTargets } from "./orphaned-targets.ts";
import { publish } from "./publish.ts";

/** The node plugin's own Pod, for example. */
const others = ["8a2b1c90-5f0e-4d55-a6a0-1c1f6a1f2b11"];
let node: FakeNode;
let orphans: OrphanedTargets;

beforeEach(() => {
  node = new FakeNode();
  node.kernel.running = new Set(others);
  orphans = new OrphanedTargets(node.rooms.publishing);
  return () => node[Symbol.dispose]();
});

/** A volume that is published, and whose Pod ended without an unpublish. */
async function forgotten(): Promise<void> {
  node.knows(podOf(), workload);
  await publish(call, node.rooms.publishing, intentOf());
  node.cluster.attachments.store.remove("s3pa-1");
  node.put(podOf({ needsUnmount: true }));
}

const minutes = [0, 1, 2, 3, 4];
const lookForMinutes = () => minutes.forEach((minute) => orphans.look(call, minute * 60_000));

it("LC-3 removes the target of a Pod that is gone, its directory and its record", async () => {
  await forgotten();
  lookForMinutes();
  expect(node.traces.mounts).toEqual([source]);
  expect(node.kernel.directories).not.toContain(target);
  expect(node.rooms.records.mounts.uses).toEqual([]);
});

it("LC-3 gives kubelet time to unpublish, from the moment at which the Pod was gone", async () => {
  node.knows(podOf(), workload);
  await publish(call, node.rooms.publishing, intentOf());
  orphans.look(call, 0);
  node.cluster.attachments.store.remove("s3pa-1");
  node.put(podOf({ needsUnmount: true }));
  orphans.look(call, 600_000);
  orphans.look(call, 605_000);
  expect(node.traces.mounts).toEqual([source, target]);
  orphans.look(call, 700_000);
  expect(node.traces.mounts).toEqual([source]);
});

it("LC-3 counts the time anew for a Pod that was not gone in between", async () => {
  await forgotten();
  orphans.look(call, 0);
  node.kernel.running = new Set([workload]);
  orphans.look(call, 60_000);
  node.kernel.running = new Set(others);
  orphans.look(call, 65_000);
  expect(node.traces.mounts).toEqual([source, target]);
});

it.for<[string, () => void]>([
  ["whose Pod has a process", () => void (node.kernel.running = new Set([workload]))],
  ["while processes are not visible", () => void (node.kernel.running = undefined)],
  ["while cgroups do not name any Pod", () => void (node.kernel.running = new Set())],
  ["whose Mountpoint Pod is needed", () => node.put(podOf())],
  ["whose Pod is attached", () => void node.knows(undefined, workload)],
  ["without a source, as 1.x made them", () => void node.kernel.unmount(source)],
  ["while a call for it is in progress", () => void node.rooms.publishing.inFlight.enter(target)],
  ["while a workload is connected to its source", () => void node.rooms.sources.registry.publishing(podOf().name)],
])("LC-3 keeps a target %s", async ([, change]) => {
  await forgotten();
  change();
  lookForMinutes();
  expect(node.traces.mounts).toContain(target);
});

it("LC-3 keeps targets before the initial list of attachments is complete", async () => {
  await forgotten();
  using young = new FakeNode();
  young.kernel.table = node.kernel.table;
  young.kernel.running = new Set(others);
  orphans = new OrphanedTargets(young.rooms.publishing);
  lookForMinutes();
  expect(young.traces.mounts).toEqual([source, target]);
});

it("LC-3 removes a target whose Mountpoint Pod is gone, too", async () => {
  await forgotten();
  node.cluster.mountpointPods.store.remove(`mount-s3/${podOf().name}`);
  lookForMinutes();
  expect(node.traces.mounts).toEqual([source]);
});
