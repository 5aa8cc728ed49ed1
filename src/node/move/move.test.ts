import { setImmediate } from "node:timers/promises";
import { afterEach, beforeEach, expect, it } from "vitest";
import { secretAccess } from "../../../test/support/fake-credentials.ts";
import { mapStorage, swapperOn } from "../../../test/support/fake-healing.ts";
import {
  call,
  credentialsOf,
  FakeNode,
  intentOf,
  kubeletDir,
  mountpointPod,
  podOf,
  type Rooms,
  target,
  workload,
} from "../../../test/support/fake-node.ts";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import { mountpointPodName, type PodName, type PodUid } from "../../core/names.ts";
import { describeError } from "../../runtime/log.ts";
import { sourcePath } from "../domain/target-path.ts";
import { publish } from "../publish/publish.ts";
import { unpublish } from "../publish/unpublish.ts";
import type { SourceRegistry } from "../source/source-registry.ts";
import type { SwapFailure } from "../swap/carry-out.ts";
import { moveWorkloads } from "./move.ts";
import { type MoveRoom, replacementFor } from "./move-room.ts";
import type { Move } from "./plan-moves.ts";

const soon = { timeout: 10_000, interval: 5 };
const successor = mountpointPodName(workload, podOf().persistentVolume, 1);

let node: FakeNode;
let rooms: Rooms;
let stop: AbortController;
let loop: Promise<void>;
let moved: Move[];
let failed: string[];
let lost: string[];

beforeEach(async () => {
  node = new FakeNode();
  node.knows(podOf(), workload);
  rooms = node.process({ storage: mapStorage(), swapper: swapperOn(node.kernel) });
  [stop, loop, moved, failed, lost] = [new AbortController(), Promise.resolve(), [], [], []];
  await publish(call, rooms.publishing, intentOf());
  node.listens = true;
});

afterEach(async () => {
  stop.abort();
  await loop;
  node[Symbol.dispose]();
});

function start({ replacement = "withoutGap" }: Partial<Pick<MoveRoom, "replacement">> = {}): void {
  const reports = {
    moved: (_call: unknown, move: Move) => void moved.push(move),
    failed: (_call: unknown, { because }: { readonly because: unknown }) => void failed.push(describeError(because)),
    lost: (
      _call: unknown,
      { targets, mountPoint }: { readonly targets: readonly string[]; readonly mountPoint: string },
    ) => void lost.push(`${targets.join(" ")} ${mountPoint}`),
  };
  loop = moveWorkloads({ ...call, signal: stop.signal }, { ...rooms.healing, replacement }, reports);
}

function successorPod(identity = "driver") {
  return podOf({ name: successor, uid: "new" as PodUid, identity, move: { ...noMove, replaces: mountpointPod } });
}

function assignTo(name: PodName): void {
  const { store } = node.cluster.attachments;
  for (const attachment of store.values()) {
    const served = Object.values(attachment.mountpointS3PodAttachments).flat();
    store.put(attachment.name, "100", { ...attachment, mountpointS3PodAttachments: { [name]: served } });
  }
}

const deviceAt = (path: string) => node.kernel.at(path)?.deviceId;
const successorSource = sourcePath(kubeletDir, successor);

it("mounts a successor with the options of the former mount, and leaves the workload where it is", async () => {
  const before = deviceAt(target);
  start();
  node.put(successorPod());
  await expect.poll(() => node.requests.length, soon).toBe(2);
  expect(node.requests[1]).toEqual(node.requests[0]);
  await expect.poll(() => rooms.records.mounts.get(successor), soon).toBeDefined();
  expect(deviceAt(target)).toBe(before);
  expect(moved).toEqual([]);
});

it("replaces the mount when the workload is assigned to the successor, and records that", async () => {
  start();
  node.put(successorPod());
  assignTo(successor);
  await expect.poll(() => moved, soon).toMatchObject([{ from: mountpointPod, to: successor, targets: [target] }]);
  expect(deviceAt(target)).toBe(deviceAt(successorSource));
  expect(rooms.records.mounts.holderOf(target)).toBe(successor);
});

it("continues a move that an earlier node plugin has begun", async () => {
  node.put(successorPod());
  assignTo(successor);
  start();
  await expect.poll(() => moved.length, soon).toBe(1);
});

it("refuses a mount of another prefix", async () => {
  start();
  node.put(successorPod());
  await expect.poll(() => rooms.records.mounts.get(successor), soon).toBeDefined();
  const record = rooms.records.mounts.get(successor);
  if (record === undefined) throw new Error("there is a record");
  rooms.records.mounts.set(successor, { ...record, request: { ...record.request, args: ["--prefix=other/"] } });
  const before = deviceAt(target);
  assignTo(successor);
  await expect.poll(() => failed, soon).toContainEqual(expect.stringContaining("different values of --prefix"));
  expect(deviceAt(target)).toBe(before);
});

it("rests while a successor has nobody to serve: its former Mountpoint Pod has a record and no user", async () => {
  unpublish(call, rooms.publishing, { volumeId: "photos", targetPath: target });
  start();
  node.put(successorPod());
  // A loop that never rests would not let this turn come.
  await setImmediate();
  expect(node.requests).toHaveLength(1);
  expect(rooms.records.mounts.get(mountpointPod)).toBeDefined();
});

it("gives the successor the credentials that the former mount got meanwhile", async () => {
  start();
  node.put(successorPod());
  await expect.poll(() => rooms.records.mounts.get(successor), soon).toBeDefined();
  rooms.records.mounts.keepAccess(mountpointPod, secretAccess(credentialsOf("rotated")));
  assignTo(successor);
  await expect.poll(() => moved.length, soon).toBe(1);
  const access = rooms.records.mounts.get(successor)?.access;
  expect(access?.source === "secret" && access.credentials.accessKeyId.reveal()).toBe(
    credentialsOf("rotated").accessKeyId.reveal(),
  );
});

it("never gives keys of one Secret to a successor for another", async () => {
  node.put(podOf({ identity: "secret:default/a" }));
  start();
  node.put(successorPod("secret:default/b"));
  assignTo(successor);
  await expect.poll(() => failed, soon).toContainEqual(expect.stringContaining("is for other credentials"));
  expect(moved).toEqual([]);
});

it("never gives keys to a successor of another identity", async () => {
  start();
  node.put(successorPod("secret:default/keys"));
  assignTo(successor);
  await expect.poll(() => failed, soon).toContainEqual(expect.stringContaining("is for other credentials"));
  expect(node.requests).toHaveLength(1);
});

it("changes nothing where the kernel cannot replace a mount without a gap", async () => {
  start({ replacement: "refused" });
  node.put(successorPod());
  await expect.poll(() => failed, soon).toContainEqual(expect.stringContaining("older than 6.5"));
  expect(node.requests).toHaveLength(1);
  expect(deviceAt(successorSource)).toBeUndefined();
});

it("moves where the kernel cannot replace a mount without a gap, if that is allowed, and reports the gap", async () => {
  start({ replacement: "withGap" });
  node.put(successorPod());
  assignTo(successor);
  await expect.poll(() => moved, soon).toMatchObject([{ to: successor, targets: [target], hadGap: true }]);
  expect(failed).toEqual([]);
});

it("completes a move in which a container has lost its mount: only a new container gets the volume", async () => {
  swapperWith([{ workload, mountPoint: "/data", because: "x", isUnsafe: false, isLost: true }]);
  await publish(call, rooms.publishing, intentOf());
  start({ replacement: "withGap" });
  node.put(successorPod());
  assignTo(successor);
  await expect.poll(() => lost, soon).toEqual([`${target} /data`]);
  expect(moved).toMatchObject([{ to: successor, targets: [target] }]);
  expect(failed).toEqual([]);
});

it.for([
  [true, false, "withoutGap"],
  [true, true, "withoutGap"],
  [false, false, "refused"],
  [false, true, "withGap"],
] as const)("can mount beneath: %s, may show a gap: %s → %s", ([canMountBeneath, movesWithGap, replacement]) => {
  expect(replacementFor(canMountBeneath, { movesWithGap })).toBe(replacement);
});

/** Replaces the mount, with these failures besides. */
function swapperWith(failures: readonly SwapFailure[], storage = mapStorage()) {
  const whole = swapperOn(node.kernel);
  const pending: (readonly string[])[] = [];
  const swap: typeof whole.swap = async (...args) => {
    pending.push(rooms.records.pendingHeals.all.flatMap(({ mountpointPod: pod, targets }) => [pod ?? "", ...targets]));
    const { replaced } = await whole.swap(...args);
    return { replaced, failures };
  };
  rooms = node.process({ storage, swapper: { ...whole, swap } });
  return pending;
}

it("remembers the new mount as one that containers may have, until all of them have it", async () => {
  const pending = swapperWith([]);
  await publish(call, rooms.publishing, intentOf());
  start();
  node.put(successorPod());
  assignTo(successor);
  await expect.poll(() => moved.length, soon).toBe(1);
  expect(pending).toEqual([[successor, target]]);
  expect(rooms.records.pendingHeals.all).toEqual([]);
});

it("still remembers it after an attempt that has reached a part of them", async () => {
  const failure = { workload, mountPoint: "/other", because: "it hangs", isUnsafe: false };
  swapperWith([failure]);
  await publish(call, rooms.publishing, intentOf());
  start();
  node.put(successorPod());
  assignTo(successor);
  await expect.poll(() => failed.length, soon).toBeGreaterThan(0);
  expect(rooms.records.pendingHeals.all).toMatchObject([{ mountpointPod: successor, targets: [target] }]);
});

it("forgets what it remembered when the workload that kept the former mount has ended", async () => {
  const failure = { workload, mountPoint: "/other", because: "it hangs", isUnsafe: false };
  swapperWith([failure]);
  await publish(call, rooms.publishing, intentOf());
  start();
  node.put(successorPod());
  assignTo(successor);
  await expect.poll(() => failed.length, soon).toBeGreaterThan(0);
  expect(rooms.records.pendingHeals.all).toHaveLength(1);
  unpublish(call, rooms.publishing, { volumeId: "photos", targetPath: target });
  await expect.poll(() => rooms.records.pendingHeals.all, soon).toEqual([]);
});

it("leaves dead mounts to healing", async () => {
  const deviceId = deviceAt(target);
  if (deviceId === undefined) throw new Error("the target is mounted");
  const dead = {
    saw: "answer",
    deviceId,
    answer: "dead",
    isAwaited: false,
    cpuNs: undefined,
    nowMs: 0,
    hangLimitMs: 0,
  };
  rooms.sources.registry.observe(mountpointPod, dead as Parameters<SourceRegistry["observe"]>[1]);
  start();
  node.put(successorPod());
  assignTo(successor);
  await expect.poll(() => rooms.records.mounts.get(successor), soon).toBeDefined();
  stop.abort();
  await loop;
  expect(deviceAt(target)).toBe(deviceId);
  expect(moved).toEqual([]);
});
