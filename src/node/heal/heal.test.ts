import { afterEach, beforeEach, expect, it } from "vitest";
import {
  call,
  dies,
  FakeNode,
  intentOf,
  keysOf,
  kubeletDir,
  mountpointPod,
  otherWorkload,
  podOf,
  source,
  target,
  targetOf,
  workload,
} from "../../../test/support/fake-node.ts";
import { mountpointPodName, type PodUid } from "../../core/names.ts";
import { sourcePath } from "../../core/target-path.ts";
import type { Mount } from "../../linux/mountinfo.ts";
import { describeError } from "../../runtime/log.ts";
import { Progress } from "../../runtime/progress.ts";
import type { NodeParts } from "../node-parts.ts";
import { publish } from "../publish.ts";
import { unpublish } from "../unpublish.ts";
import { type Delayed, type Healed, type HealReports, healDeadMounts } from "./heal.ts";
import { forgetfulKeeper } from "./memory-keeper.ts";
import { MountMemory } from "./mount-memory.ts";
import type { Swapper } from "./swap.ts";

const soon = { timeout: 10_000, interval: 5 };
const successor = mountpointPodName(workload, podOf().persistentVolume, 1);

let node: FakeNode;
let parts: NodeParts;
let stop: AbortController;
let loop: Promise<void>;
let healed: Healed[];
let delayed: Delayed[];

beforeEach(() => {
  node = new FakeNode();
  node.knows(podOf(), workload);
  parts = { ...node.parts, swapper: fakeSwapper() };
  stop = new AbortController();
  loop = Promise.resolve();
  healed = [];
  delayed = [];
});

afterEach(async () => {
  stop.abort();
  await loop;
  node[Symbol.dispose]();
});

function start(): void {
  const reports: HealReports = {
    healed: (_call, report) => healed.push(report),
    delayed: (_call, report) => delayed.push(report),
  };
  loop = healDeadMounts({ ...call, signal: stop.signal }, parts, reports, new Progress());
}

async function restart(): Promise<void> {
  stop.abort();
  await loop;
  stop = new AbortController();
  start();
}

/** In the one namespace that the fake kernel has. */
function onDevice(mount: Mount, minor: number): Mount {
  return { ...mount, minor };
}

function fakeSwapper(): Swapper {
  return {
    swap: async (_call, minor, from) => {
      const { kernel } = node;
      const now = kernel.at(from)?.minor ?? -1;
      const places = kernel.table.filter((mount) => mount.minor === minor && mount.mountPoint.includes("/pods/"));
      kernel.table = kernel.table.map((mount) => (places.includes(mount) ? onDevice(mount, now) : mount));
      return { places: places.length, failures: [] };
    },
  };
}

/** In our own namespace it works, in a container it does not, for so many times. */
function failingInside(times: number, whose: PodUid | undefined = workload): Swapper {
  const whole = fakeSwapper();
  let left = times;
  return {
    swap: async (...args) => {
      const { places } = await whole.swap(...args);
      left -= 1;
      const failure = { workload: whose, mountPoint: "/data", because: "it hangs" };
      return { places, failures: left < 0 ? [] : [failure] };
    },
  };
}

function death(): void {
  node.kernel.server(source, "dead");
  node.hangUp();
}

/** The node plugin was away, so it has no connection that could tell. */
function restartedAfterDeath(): void {
  parts.sources.disconnect(mountpointPod);
  node.kernel.server(source, "dead");
}

const reasons = () => delayed.map(({ because }) => describeError(because));

it("mounts again with what it remembers as soon as the mounter listens, and gives the new mount to the workload", async () => {
  start();
  await publish(call, parts, intentOf());
  const before = node.kernel.at(target)?.minor;
  death();
  await expect.poll(() => parts.deadMounts.isKnown(before ?? -1), soon).toBe(true);
  node.startsListening();
  await expect.poll(() => healed, soon).toMatchObject([{ mountpointPod, targets: [target] }]);
  expect(node.requests[1]).toEqual(node.requests[0]);
  expect(node.kernel.at(target)?.minor).toBe(node.kernel.at(source)?.minor);
  expect(node.kernel.at(target)?.minor).not.toBe(before);
  expect(parts.deadMounts.isKnown(before ?? -1)).toBe(false);
  expect(delayed).toEqual([]);
});

it("finds at its start what died before, and takes its words from the directory in memory", async () => {
  await publish(call, parts, intentOf());
  restartedAfterDeath();
  node.listens = true;
  start();
  await expect.poll(() => healed, soon).toMatchObject([{ mountpointPod }]);
});

it("says that it waits for kubelet where nothing is remembered, and heals with kubelet's call", async () => {
  await publish(call, parts, intentOf());
  parts.memory.dropUser(target);
  parts.memory.forget(mountpointPod);
  restartedAfterDeath();
  start();
  await expect.poll(reasons, soon).toContainEqual(expect.stringContaining("not known on this node any more"));
  node.listens = true;
  await publish(call, parts, intentOf());
  await expect.poll(() => healed, soon).toMatchObject([{ mountpointPod }]);
  expect(node.kernel.table.filter(({ mountPoint }) => mountPoint === target)).toHaveLength(1);
});

it("learns from kubelet's repeated call what it did not mount itself", async () => {
  await publish(call, parts, intentOf());
  parts = { ...parts, memory: new MountMemory(forgetfulKeeper) };
  await publish(call, parts, intentOf());
  expect(parts.memory.recall(mountpointPod)?.request.bucketName).toBe("photos");
  expect(parts.memory.userAt(target)).toMatchObject({ namespace: "default", name: "app", uid: workload });
});

it("follows the workload to another Mountpoint Pod, with the keys of the volume", async () => {
  node.put(podOf({ identity: "secret:default/keys" }));
  start();
  await publish(call, parts, intentOf(workload, { keys: keysOf("own") }));
  node.put(podOf({ identity: "secret:default/keys", phase: "failed", explanation: "Evicted" }));
  death();
  await expect.poll(reasons, soon).toContainEqual(expect.stringContaining("has ended (failed: Evicted)"));
  node.credentials.clear();
  node.put(podOf({ name: successor, uid: "new" as PodUid, identity: "secret:default/keys" }));
  node.listens = true;
  assignTo(successor);
  await expect.poll(() => healed, soon).toMatchObject([{ mountpointPod: successor }]);
  expect([...node.credentials.values()].join("")).toContain("own-secret");
  expect(node.kernel.at(target)?.minor).toBe(node.kernel.at(sourcePath(kubeletDir, successor))?.minor);
  expect(parts.memory.holderOf(target)).toBe(successor);
});

it("never gives keys to a Mountpoint Pod of another identity", async () => {
  start();
  await publish(call, parts, intentOf());
  node.put(podOf({ name: successor, uid: "new" as PodUid, identity: "secret:default/keys" }));
  assignTo(successor);
  node.listens = true;
  death();
  await expect.poll(reasons, soon).toContainEqual(expect.stringContaining("is for other keys"));
  expect(node.requests).toHaveLength(1);
});

it("tries again after mount-s3 failed to start, and tells why it did", async () => {
  start();
  await publish(call, parts, intentOf());
  node.behaviour = (of, device) => {
    dies(of, device);
    const lastEnd = { exitCode: 1, message: "Error: bucket does not exist", finishedAt: "2999-01-01T00:00:00Z" };
    node.put(podOf({ lastEnd }));
  };
  node.listens = true;
  death();
  await expect.poll(reasons, soon).toContainEqual(expect.stringContaining("bucket does not exist"));
  node.behaviour = (of, device) => of.kernel.server(device, "serving");
  node.startsListening();
  await expect.poll(() => healed, soon).toMatchObject([{ mountpointPod }]);
});

it("tries again for a container that failed, although kubelet's own mount is whole", async () => {
  parts = { ...parts, swapper: failingInside(2) };
  start();
  await publish(call, parts, intentOf());
  node.listens = true;
  death();
  await expect.poll(() => healed, soon).toMatchObject([{ mountpointPod, targets: [target] }]);
  expect(reasons()).toEqual([expect.stringContaining("/data: it hangs"), expect.stringContaining("/data: it hangs")]);
  expect((await parts.metrics.deaths.get()).values).toMatchObject([{ value: 1 }]);
});

it("tells those whose containers work that they do, and owes only the one whose container failed", async () => {
  node.knows(podOf(), workload, otherWorkload);
  parts = { ...parts, swapper: failingInside(2, otherWorkload) };
  await publish(call, parts, intentOf());
  await publish(call, parts, intentOf(otherWorkload));
  start();
  node.listens = true;
  death();
  await expect.poll(() => healed.length, soon).toBe(2);
  expect(healed.map(({ targets }) => targets)).toEqual([[target], [targetOf(otherWorkload)]]);
  expect(delayed.map(({ targets }) => targets)).toEqual([[targetOf(otherWorkload)], [targetOf(otherWorkload)]]);
});

it("takes a failure of which nobody knows whose it is for everybody's, and that of one who has no volume for nobody's", async () => {
  parts = { ...parts, swapper: failingInside(1, undefined) };
  await publish(call, parts, intentOf());
  start();
  node.listens = true;
  death();
  await expect.poll(() => healed.length, soon).toBe(1);
  expect(delayed.map(({ targets }) => targets)).toEqual([[target]]);
  parts = { ...parts, swapper: failingInside(Infinity, otherWorkload) };
  await restart();
  node.startsListening();
  death();
  await expect.poll(() => healed.length, soon).toBe(2);
  expect(delayed).toHaveLength(1);
});

it("lets go of a container that cannot be healed when its Pod is gone", async () => {
  parts = { ...parts, swapper: failingInside(Infinity) };
  start();
  await publish(call, parts, intentOf());
  const minor = node.kernel.at(target)?.minor ?? -1;
  node.listens = true;
  death();
  await expect.poll(() => delayed.length, soon).toBeGreaterThan(0);
  expect(parts.deadMounts.isKnown(minor)).toBe(true);
  unpublish(call, parts, { volumeId: "photos", targetPath: target });
  await expect.poll(() => parts.deadMounts.isKnown(minor), soon).toBe(false);
  expect(healed).toEqual([]);
});

it("heals a part that kubelet gave to a container, where the volume itself is whole", async () => {
  await publish(call, parts, intentOf());
  const part = `${kubeletDir}/pods/${workload}/volume-subpaths/${podOf().persistentVolume}/app/0`;
  const mount = node.kernel.at(target);
  if (mount === undefined) throw new Error("nothing is mounted");
  const minor = 4000;
  node.kernel.table = [...node.kernel.table, { ...mount, mountPoint: part, minor }];
  parts.deadMounts.notice({ minor, mountPoint: part }, undefined);
  start();
  await expect.poll(() => healed, soon).toMatchObject([{ mountpointPod, targets: [target] }]);
  expect(node.kernel.at(part)?.minor).toBe(node.kernel.at(source)?.minor);
});

it("follows the attachment of one workload where another one, which is on its way out, has none any more", async () => {
  node.knows(podOf(), workload, otherWorkload);
  await publish(call, parts, intentOf());
  await publish(call, parts, intentOf(otherWorkload));
  start();
  node.knows(podOf({ phase: "failed", explanation: "Evicted" }), otherWorkload);
  node.put(podOf({ name: successor, uid: "new" as PodUid }));
  assignTo(successor);
  node.listens = true;
  death();
  await expect.poll(() => healed, soon).toMatchObject([{ mountpointPod: successor }]);
  expect(node.kernel.at(target)?.minor).toBe(node.kernel.at(sourcePath(kubeletDir, successor))?.minor);
});

it("lets go of a dead mount that was unpublished", async () => {
  start();
  await publish(call, parts, intentOf());
  const minor = node.kernel.at(target)?.minor ?? -1;
  node.put(podOf({ phase: "failed" }));
  death();
  await expect.poll(() => delayed.length, soon).toBeGreaterThan(0);
  unpublish(call, parts, { volumeId: "photos", targetPath: target });
  await expect.poll(() => parts.deadMounts.isKnown(minor), soon).toBe(false);
  expect(healed).toEqual([]);
});

it("without the host's /proc brings the source back, says what is missing, and leaves the rest to kubelet's call", async () => {
  parts = node.parts;
  start();
  await publish(call, parts, intentOf());
  node.listens = true;
  death();
  await expect.poll(reasons, soon).toContainEqual(expect.stringContaining("the host's /proc is not mounted"));
  await publish(call, parts, intentOf());
  expect(node.kernel.at(target)?.minor).toBe(node.kernel.at(source)?.minor);
});

function assignTo(name: typeof mountpointPod): void {
  const { store } = parts.attachments;
  const spec = store.get("s3pa-1");
  if (spec === undefined) throw new Error("there is no attachment");
  const served = Object.values(spec.mountpointS3PodAttachments).flat();
  store.put("s3pa-1", "1000", { ...spec, mountpointS3PodAttachments: { [name]: served } });
}
