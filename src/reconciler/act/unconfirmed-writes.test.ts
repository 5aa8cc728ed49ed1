import { setImmediate } from "node:timers/promises";
import { beforeEach, expect, it, vi } from "vitest";
import { DriverError } from "../../core/errors.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { kinds } from "../../kube/kinds.ts";
import { silentLogger } from "../../runtime/log.ts";
import type { NewAttachment, Step } from "../decision/decision.ts";
import { attachment, mp, node, volume, w1 } from "../decision/situation.fixture.ts";
import { volumeOnNodeKey } from "../domain/volume-on-node.ts";
import { act, type Cluster } from "./act.ts";
import { fakeCluster, storedPod } from "./fake-cluster.fixture.ts";
import { type Confirming, mayHaveWritten, type Target, UnconfirmedWrites } from "./unconfirmed-writes.ts";

const key = volumeOnNodeKey({ node, persistentVolume: volume.name });
const call = { signal: new AbortController().signal, log: silentLogger };
const listed = attachment({ [mp(w1)]: [w1] });
const creation = { do: "createAttachment", attachment: listed as unknown as NewAttachment, because: "test" } as Step;

let api: ReturnType<typeof fakeCluster>;
let confirming: Confirming;
beforeEach(() => {
  api = fakeCluster();
  confirming = api.cluster as unknown as Confirming;
});

/** In the order in which they happen: the end of the confirmation, and what the test names. */
async function order(confirmed: Promise<void>, events: readonly (readonly [string, () => void])[]): Promise<string[]> {
  const seen: string[] = [];
  const ended = confirmed.then(() => seen.push("confirmed"));
  for (const [name, perform] of events) {
    await setImmediate();
    seen.push(name);
    perform();
  }
  await ended;
  return seen;
}

it("SC-7 the next decision waits until the view shows an attachment whose answer was lost", async () => {
  const { client } = api.cluster;
  const create = async (...given: Parameters<typeof client.create>) => {
    await client.create(...given);
    throw new Error("read ECONNRESET");
  };
  api.delayView();
  const cluster = { ...api.cluster, client: { ...client, create } } as Cluster;
  await expect(act(call, [creation], cluster)).rejects.toThrow("ECONNRESET");

  const unconfirmed = api.cluster.unconfirmed as UnconfirmedWrites;
  const seen = await order(unconfirmed.confirm(call, confirming, key), [["shown", api.showInView]]);
  expect(seen).toEqual(["shown", "confirmed"]);
  expect(api.view.attachments.size).toBe(1);
});

it("SC-7 a watch that does not show a write within ten seconds counts as late", async () => {
  vi.useFakeTimers();
  try {
    api.delayView();
    const late = vi.spyOn(api.view.lateWatches, "add");
    const failed = act(call, [creation], api.cluster).catch(String);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(late.mock.calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await failed).toContain("waiting for the watch");
    expect(late.mock.calls.map(([kind]) => kind)).toEqual(["mountpoints3podattachments"]);
  } finally {
    vi.useRealTimers();
  }
});

it("confirms at once what was not written", async () => {
  const unconfirmed = new UnconfirmedWrites();
  unconfirmed.add({ key, kind: "attachment", name: "s3pa-1" });
  unconfirmed.add({ key, kind: "mountpointPod", name: mp(w1) });
  await expect(unconfirmed.confirm(call, confirming, key)).resolves.toBeUndefined();
});

it("confirms a Mountpoint Pod only when the view shows its last version", async () => {
  api.delayView();
  const stored = api.put(storedPod());
  const unconfirmed = new UnconfirmedWrites();
  unconfirmed.add({ key, kind: "mountpointPod", name: stored.metadata.name });
  const show = (): void => {
    api.view.mountpointPods.put(`mount-s3/${stored.metadata.name}`, "1", { resourceVersion: "1" } as never);
  };
  const seen = await order(unconfirmed.confirm(call, confirming, key), [
    ["an older version", show],
    ["the last version", api.showInView],
  ]);
  expect(seen).toEqual(["an older version", "the last version", "confirmed"]);
});

it("does not wait for a Pod of another program that has the name", async () => {
  const unconfirmed = new UnconfirmedWrites();
  const metadata = { name: mp(w1), namespace: "mount-s3", uid: "u", resourceVersion: "1", creationTimestamp: "" };
  api.objects.set(`mount-s3/${mp(w1)}`, { metadata, spec: {} });
  unconfirmed.add({ key, kind: "mountpointPod", name: mp(w1) });
  await expect(unconfirmed.confirm(call, confirming, key)).resolves.toBeUndefined();
});

it("reads each object once, however many writes of it have failed, and nothing after that", async () => {
  const find = vi.spyOn(confirming.reader, "find");
  const unconfirmed = new UnconfirmedWrites();
  const targets: readonly Target[] = [
    { key, kind: "attachment", name: "s3pa-1" },
    { key, kind: "attachment", name: "s3pa-1" },
    { key, kind: "mountpointPod", name: mp(w1) },
  ];
  for (const target of targets) unconfirmed.add(target);
  await unconfirmed.confirm(call, confirming, key);
  await unconfirmed.confirm(call, confirming, key);
  expect(find.mock.calls.map(([, , { name }]) => name)).toEqual(["s3pa-1", mp(w1)]);
});

it("does not wait for the version that was read where the view has a later one", async () => {
  const stored = api.put(storedPod());
  const unconfirmed = new UnconfirmedWrites();
  unconfirmed.add({ key, kind: "mountpointPod", name: stored.metadata.name });
  vi.spyOn(confirming.reader, "find").mockResolvedValue({
    object: { ...stored, metadata: { ...stored.metadata, resourceVersion: "1" } },
    version: "1",
  });
  await expect(unconfirmed.confirm(call, confirming, key)).resolves.toBeUndefined();
});

it("waits until the view shows that an object has gone", async () => {
  const stored = api.put(storedPod());
  api.delayView();
  await api.cluster.client.delete(call, kinds.pods, stored.metadata, { uid: stored.metadata.uid });
  const unconfirmed = new UnconfirmedWrites();
  unconfirmed.add({ key, kind: "mountpointPod", name: stored.metadata.name });
  vi.spyOn(confirming.reader, "find").mockResolvedValue({ object: undefined, version: "9" });
  const seen = await order(unconfirmed.confirm(call, confirming, key), [["shown", api.showInView]]);
  expect(seen).toEqual(["shown", "confirmed"]);
});

it.for([
  [new ApiError(500, "InternalError", "timed out"), true],
  [new ApiError(504, "", "gateway timeout"), true],
  [new Error("read ECONNRESET"), true],
  [new DriverError("notReady", "no answer"), true],
  [new ApiError(403, "Forbidden", "a quota"), false],
  [new ApiError(409, "Conflict", "changed"), false],
  [new ApiError(429, "TooManyRequests", "later"), false],
  [new DriverError("exists", "the name is taken"), false],
] as const)("%s: may have written: %s", ([error, may]) => {
  expect(mayHaveWritten(error)).toBe(may);
});
