import { beforeEach, expect, it } from "vitest";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import { type NodeName, type PodName, type PodUid, type PvName, warmPodName } from "../../core/names.ts";
import { attachment, volume, w1 } from "../decision/situation.fixture.ts";
import { installation } from "../domain/mountpoint-pod/installation.fixture.ts";
import { type ReportedWaitingPod, warmSettings } from "../domain/mountpoint-pod/warm-pod.ts";
import type { VolumeOnNodeKey } from "../domain/volume-on-node.ts";
import { emptyView } from "../observe/view.ts";
import { WarmPool } from "./pool.ts";

const node = "worker-1" as NodeName;
const [mine, others] = ["worker-1/data", "worker-1/other"] as [VolumeOnNodeKey, VolumeOnNodeKey];
const here = { node, persistentVolume: volume.name };
const [a, b] = [0, 1].map((number) => warmPodName("term", node, number)) as [PodName, PodName];

let view: ReturnType<typeof emptyView>;
let pool: WarmPool;
let version: number;

function put(name: PodName, but: Partial<ReportedWaitingPod> = {}): void {
  version += 1;
  const pod: ReportedWaitingPod = {
    ...{ name, uid: `uid of ${name}` as PodUid, resourceVersion: "1", node, createdAt: new Date(0) },
    ...{ driverVersion: "3.0.0", phase: "running", terminating: false, needsUnmount: false, noNewWorkload: false },
    ...{
      needsUnmountSince: undefined,
      readOnly: false,
      move: noMove,
      warmSettings: warmSettings(installation),
      settings: undefined,
    },
    ...{ scheduled: true, restarts: 0, deletionAskedAt: undefined, problem: undefined },
    ...but,
  };
  view.waitingPods.put(`mount-s3/${name}`, String(version), pod);
}

const current = (name: PodName) => view.waitingPods.get(`mount-s3/${name}`) as ReportedWaitingPod;
const free = (of = here) => pool.waitingFor(of).map(({ name }) => name);

beforeEach(() => {
  version = 0;
  view = emptyView();
  view.volumes.put(volume.name, "1", volume);
  view.volumes.put("other", "1", { ...volume, name: "other" as PvName });
  pool = new WarmPool(view, installation);
  put(a);
  return () => pool[Symbol.dispose]();
});

it("WM-1 gives a Pod to one volume only, also while the write that says so is on its way", () => {
  expect(free()).toEqual([a]);
  pool.claim(a, mine, "s3pa-1");
  expect(free({ node, persistentVolume: "other" as PvName })).toEqual([]);
  expect(free()).toEqual([a]);
});

it("WM-1 gives the same Pod again to a volume whose write failed, because the API server may have accepted it", () => {
  put(b);
  pool.claim(b, mine, "s3pa-1");
  expect(free()).toEqual([b, a]);
  expect([a, b].map((name) => pool.claimedFor(name))).toEqual([undefined, "s3pa-1"]);
  pool.claim(a, others, "s3pa-1");
  expect(free()).toEqual([b]);
});

it("WM-1 gives no Pod that is about to be deleted", () => {
  pool.claimForDeletion(current(a));
  expect(free()).toEqual([]);
  expect(pool.isToBeDeleted(current(a))).toBe(true);
});

it("WM-1 gives a Pod whose deletion was requested once another version shows that the API server has refused it", () => {
  pool.claimForDeletion(current(a));
  put(a, { resourceVersion: "2" });
  expect(pool.isToBeDeleted(current(a))).toBe(false);
  expect(free()).toEqual([a]);
  pool.claimForDeletion(current(a));
  put(a, { resourceVersion: "3", terminating: true });
  expect(free()).toEqual([]);
});

it("WM-1 gives a Pod that a volume has claimed to no other after its deletion was refused", () => {
  pool.claim(a, others, "s3pa-1");
  pool.claimForDeletion(current(a));
  put(a, { resourceVersion: "2" });
  expect(free()).toEqual([]);
  expect(pool.claimedMs(a)).toBeDefined();
});

it("WM-1 gives no Pod that an attachment lists, whoever has written it", () => {
  view.attachments.put("s3pa", "1", attachment({ [a]: [w1] }));
  expect(free()).toEqual([]);
});

it.for<[string, Partial<ReportedWaitingPod>]>([
  ["does not run yet", { phase: "pending" }],
  ["has ended", { phase: "succeeded" }],
  ["is being deleted", { terminating: true }],
  ["is to be unmounted", { needsUnmount: true }],
  ["is closed to workloads", { noNewWorkload: true }],
  ["has a problem", { problem: { kind: "crashing", cause: "", fix: "" } }],
  ["has other settings", { warmSettings: "of another image" }],
  ["is on another node", { node: "worker-2" as NodeName }],
])("WM-1 gives no Pod that %s", ([, but]) => {
  put(a, but);
  expect(free()).toEqual([]);
});

it("WM-2 gives none to a volume with settings of its own", () => {
  view.volumes.put(volume.name, "2", { ...volume, readOnly: true });
  expect(free()).toEqual([]);
  view.volumes.put(volume.name, "3", { name: volume.name, refused: "no" });
  expect(free()).toEqual([]);
});

it("forgets claims with their Pods", () => {
  pool.claim(a, mine, "s3pa-1");
  pool.claimForDeletion(current(a));
  const pod = current(a);
  view.waitingPods.remove(`mount-s3/${a}`);
  expect(pool.isToBeDeleted(pod)).toBe(false);
  expect(pool.claimedMs(a)).toBeUndefined();
});
