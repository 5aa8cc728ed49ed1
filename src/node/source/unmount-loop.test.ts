import { afterEach, beforeEach, expect, it, vi } from "vitest";
import {
  call,
  FakeNode,
  intentOf,
  kubeletDir,
  mountpointPod,
  podOf,
  source,
  target,
  workload,
} from "../../../test/support/fake-node.ts";
import type { PodName } from "../../core/names.ts";
import { sourcePath } from "../domain/target-path.ts";
import { publish } from "../publish/publish.ts";
import { unpublish } from "../publish/unpublish.ts";
import { unmountUnneeded } from "./unmount-loop.ts";

let node: FakeNode;
let stop: AbortController;
let loop: Promise<void>;

beforeEach(() => {
  vi.useFakeTimers();
  node = new FakeNode();
  stop = new AbortController();
});

afterEach(async () => {
  stop.abort();
  await loop;
  node[Symbol.dispose]();
  vi.useRealTimers();
});

/** Runs the loop until its queue is empty. */
async function start(): Promise<void> {
  loop = unmountUnneeded({ ...call, signal: stop.signal }, node.rooms.sources);
  await settled();
}

const settled = () => vi.advanceTimersByTimeAsync(0);

const unneeded = podOf({ needsUnmount: true });

async function published(): Promise<void> {
  node.knows(podOf(), workload);
  await publish(call, node.rooms.publishing, intentOf());
}

it("removes an unused source in this order: exit file, unmount, directory", async () => {
  await published();
  unpublish(call, node.rooms.publishing, { volumeId: "photos", targetPath: target });
  await start();
  expect(node.traces.mounts).toEqual([source]);

  let askedFirst = false;
  node.kernel.faults.set("unmount", () => {
    askedFirst = node.exitAsked;
  });
  node.put(unneeded);
  await settled();
  expect(askedFirst).toBe(true);
  expect(node.traces).toEqual({ mounts: [], devices: 0, openConnections: 0 });
  expect(node.kernel.directories).not.toContain(source);
});

it("unmounts as soon as the last bind mount is gone", async () => {
  await published();
  await start();
  node.put(unneeded);
  await settled();
  expect(node.traces.mounts).toEqual([source, target]);
  expect(node.exitAsked).toBe(false);

  unpublish(call, node.rooms.publishing, { volumeId: "photos", targetPath: target });
  await settled();
  expect(node.traces.mounts).toEqual([]);
});

it("unmounts the source of a terminating Mountpoint Pod with its last user, without the needs-unmount annotation", async () => {
  await published();
  await start();
  node.put(podOf({ terminating: true }));
  await settled();
  expect(node.traces.mounts).toEqual([source, target]);
  unpublish(call, node.rooms.publishing, { volumeId: "photos", targetPath: target });
  await settled();
  expect(node.traces.mounts).toEqual([]);
  expect(node.exitAsked).toBe(true);
});

it("notices the unmount of a bind mount that another program made", async () => {
  await published();
  await start();
  node.put(unneeded);
  await settled();
  expect(node.traces.mounts).toEqual([source, target]);
  node.kernel.unmount(target);
  await settled();
  expect(node.traces.mounts).toEqual([]);
});

it("does not unmount during a publish", async () => {
  await published();
  await start();
  node.kernel.unmount(target);
  const publishing = node.rooms.sources.registry.publishing(mountpointPod);
  node.put(unneeded);
  await settled();
  expect(node.traces.mounts).toEqual([source]);
  publishing[Symbol.dispose]();
  node.rooms.sources.unmounts.add(mountpointPod); // as a publish does at its end
  await settled();
  expect(node.traces.mounts).toEqual([]);
});

it("asks a mounter to exit that has never mounted anything", async () => {
  node.knows(unneeded);
  await start();
  expect(node.exitAsked).toBe(true);
});

it("unmounts although the communication volume is gone already", async () => {
  await published();
  node.kernel.unmount(target);
  node.volumeExists = false;
  await start();
  node.put(unneeded);
  await settled();
  expect(node.traces.mounts).toEqual([]);
});

it("unmounts sources of an earlier node plugin at the start, and ignores foreign directory entries", async () => {
  await published();
  node.kernel.unmount(target);
  node.cluster.mountpointPods.store.remove(`mount-s3/${mountpointPod}`);
  const empty = sourcePath(kubeletDir, "mp-empty" as PodName);
  const odd = sourcePath(kubeletDir, "mp-a-file-in-it" as PodName);
  const foreign = sourcePath(kubeletDir, "lost+found" as PodName);
  for (const directory of [odd, foreign, empty]) node.kernel.makeDirectory(directory);
  node.kernel.files.add(`${odd}/file`);
  await start();
  expect(node.traces.mounts).toEqual([]);
  expect(node.kernel.directories).not.toContain(source);
  expect(node.kernel.directories).not.toContain(empty);
  expect(node.kernel.directories).toContain(odd);
  expect(node.kernel.directories).toContain(foreign);
});

it("considers a Mountpoint Pod gone only after the initial list", async () => {
  await published();
  node.kernel.unmount(target);
  const { table } = node.kernel;
  using young = new FakeNode();
  young.kernel.table = table;
  young.kernel.makeDirectory(source);
  node[Symbol.dispose]();
  node = young;
  await start();
  expect(node.traces.mounts).toEqual([source]);
  node.knows(undefined);
  await settled();
  expect(node.traces.mounts).toEqual([]);
});

it("keeps a source whose Mountpoint Pod is gone while a workload uses it", async () => {
  await published();
  node.cluster.mountpointPods.store.remove(`mount-s3/${mountpointPod}`);
  await start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(node.traces.mounts).toEqual([source, target]);
});

it("tries again after a failure", async () => {
  await published();
  node.kernel.unmount(target);
  await start();
  node.kernel.faults.set("unmount", "EIO");
  node.put(unneeded);
  await settled();
  expect(node.traces.mounts).toEqual([source]);
  await vi.advanceTimersByTimeAsync(1000);
  expect(node.traces.mounts).toEqual([]);
});
