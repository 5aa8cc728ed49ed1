import { setImmediate } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import type { AttachmentSpec } from "../../core/attachment.ts";
import { DriverError } from "../../core/errors.ts";
import { annotations, labels, type NodeName, type PvName, type VolumeId } from "../../core/names.ts";
import { parseVolumeAttributes } from "../../core/volume/volume-attributes.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { silentLogger } from "../../runtime/log.ts";
import { decide } from "../decision/decide.ts";
import type { ObservedAttachment, Step } from "../decision/decision.ts";
import { attachment, mp, node, seen, volume, w1, w2, workload } from "../decision/situation.fixture.ts";
import { act, type Cluster } from "./act.ts";
import { fakeCluster, merged, type Stored, storedPod } from "./fake-cluster.fixture.ts";

afterEach(() => vi.useRealTimers());

const call = { signal: new AbortController().signal, log: silentLogger };

/** The steps for what the view shows now. */
function stepsFor({ view }: ReturnType<typeof fakeCluster>, workloads = [workload(w1)]): readonly Step[] {
  const attachments = [...view.attachments.values()];
  return decide(seen({ workloads, attachments, mountpointPods: [...view.mountpointPods.values()] })).steps;
}

const uidsIn = (object: unknown) =>
  Object.values((object as ObservedAttachment).spec.mountpointS3PodAttachments).map((list) =>
    list.map((entry) => entry.workloadPodUID),
  );

it("creates, shares, releases and deletes, until no object is left", async () => {
  const api = fakeCluster();
  await act(call, stepsFor(api), api.cluster);
  await act(call, stepsFor(api, [workload(w1), workload(w2)]), api.cluster);
  expect([...api.view.attachments.values()].map(uidsIn)).toEqual([[[w1, w2]]]);
  expect([...api.view.mountpointPods.values()].map(({ name }) => name)).toEqual([mp(w1)]);

  await act(call, stepsFor(api, [workload(w2)]), api.cluster);
  expect([...api.view.attachments.values()].map(uidsIn)).toEqual([[[w2]]]);

  await act(call, stepsFor(api, []), api.cluster);
  expect(api.view.mountpointPods.get(`mount-s3/${mp(w1)}`)?.needsUnmount).toBe(true);
  await act(call, stepsFor(api, []), api.cluster);
  expect([...api.objects.keys()]).toEqual([]);
});

it("performs the next step only when the view shows the last one, so that no decision uses an older view", async () => {
  const api = fakeCluster();
  api.delayView();
  const acting = act(call, stepsFor(api), api.cluster);
  const attachmentWritten = () => [...api.objects.values()].some(({ metadata }) => metadata.name.startsWith("s3pa-"));
  // By then every continuation that was ready has run.
  await setImmediate();
  expect([api.objects.size, attachmentWritten()]).toEqual([1, false]);

  api.showInView();
  await expect.poll(attachmentWritten).toBe(true);
  const order: string[] = [];
  const ended = acting.then(() => order.push("done"));
  await setImmediate();
  order.push("shown");
  api.showInView();
  await ended;
  expect(order).toEqual(["shown", "done"]);
  expect(await acting).toEqual({ kind: "done" });
});

it.for(["annotateForUnmount", "deleteMountpointPod", "rewriteAttachment", "deleteAttachment"] as const)(
  "ends %s only when the view shows it",
  async (what) => {
    const api = fakeCluster();
    api.put(storedPod());
    api.put({ ...attachment({ [mp(w1)]: [w1] }) } as unknown as Stored);
    const [listed] = [...api.view.mountpointPods.values()];
    const [listing] = [...api.view.attachments.values()];
    if (listed === undefined || listing === undefined) throw new Error("the view is empty");
    const spec = { ...listing.spec, mountpointS3PodAttachments: { [mp(w1)]: [] } };
    const about = what.endsWith("Attachment") ? { attachment: listing, spec } : { mountpointPod: listed };
    const step = { do: what, ...about, because: "test" } as Step;
    api.delayView();
    const order: string[] = [];
    const ended = act(call, [step], api.cluster).then(() => order.push("done"));
    await setImmediate();
    order.push("shown");
    api.showInView();
    await ended;
    expect(order).toEqual(["shown", "done"]);
  },
);

it("performs no step once the term is over", async () => {
  const api = fakeCluster();
  const over = { ...call, signal: AbortSignal.abort(new Error("another may lead now")) };
  await expect(act(over, stepsFor(api), api.cluster)).rejects.toThrow("another may lead now");
  expect([...api.objects.keys()]).toEqual([]);
});

it("emits an event on the workload that its volume is mounted with the credentials of the driver", async () => {
  const api = fakeCluster();
  const { steps } = decide(
    seen({ workloads: [workload(w1)], volume: { ...volume, fallback: "its class names none" } }),
  );
  expect(await act(call, steps, api.cluster)).toEqual({ kind: "done" });
  expect(api.events).toEqual([
    expect.stringMatching(/^w1: DriverCredentialsUsed: .*its class names none.*fallback=false refuses/),
  ]);
});

it("decides again when another client wrote the attachment first, and has changed nothing until then", async () => {
  const api = fakeCluster();
  await act(call, stepsFor(api), api.cluster);
  const [before] = [...api.view.attachments.values()];
  const outdated = stepsFor(api, []).filter((step) => step.do === "deleteAttachment");
  api.put(before as unknown as Stored);

  expect(await act(call, outdated, api.cluster)).toMatchObject({ kind: "again" });
  expect([...api.view.attachments.values()].map(uidsIn)).toEqual([[[w1]]]);
});

it("does not delete a Mountpoint Pod that has started meanwhile", async () => {
  const api = fakeCluster();
  const { metadata, ...rest } = storedPod();
  api.put({
    ...rest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotations.needsUnmount]: "true" } },
  });
  const steps = stepsFor(api, []);
  expect(steps).toMatchObject([{ do: "deleteMountpointPod" }]);
  api.put(api.objects.get(`mount-s3/${mp(w1)}`) as Stored);

  expect(await act(call, steps, api.cluster)).toMatchObject({ kind: "again" });
  expect(api.objects.has(`mount-s3/${mp(w1)}`)).toBe(true);
});

it.for([
  { node: "is there", answer: () => Promise.resolve({ metadata: { name: node } }), isDeleted: false },
  { node: "is gone", answer: () => Promise.resolve(undefined), isDeleted: true },
  {
    node: "may not be looked at",
    answer: () => Promise.reject(new ApiError(403, "Forbidden", "no")),
    isDeleted: false,
  },
])(
  "DS-14 a Mountpoint Pod that may be deleted only if its node is gone, and its node $node",
  async ({ answer, isDeleted }) => {
    const api = fakeCluster();
    api.put(storedPod());
    const [found] = [...api.view.mountpointPods.values()];
    if (found === undefined) throw new Error("the view has no Mountpoint Pod");
    const step: Step = { do: "deleteMountpointPod", mountpointPod: found, ifNodeIsGone: true, because: "test" };
    const reader = { get: answer } as unknown as Cluster["reader"];
    expect(await act(call, [step], { ...api.cluster, reader })).toEqual({ kind: "done" });
    expect(api.objects.has(`mount-s3/${mp(w1)}`)).toBe(!isDeleted);
  },
);

it("DS-14 fails, and deletes nothing, when the API server does not tell whether the node is gone", async () => {
  const api = fakeCluster();
  api.put(storedPod());
  const [found] = [...api.view.mountpointPods.values()];
  if (found === undefined) throw new Error("the view has no Mountpoint Pod");
  const step: Step = { do: "deleteMountpointPod", mountpointPod: found, ifNodeIsGone: true, because: "test" };
  const reader = { get: () => Promise.reject(new ApiError(500, "InternalError", "no answer")) };
  await expect(act(call, [step], { ...api.cluster, reader })).rejects.toThrow("no answer");
  expect(api.objects.has(`mount-s3/${mp(w1)}`)).toBe(true);
});

it("decides again when the Mountpoint Pod exists already: it may be for something else", async () => {
  const api = fakeCluster();
  const steps = stepsFor(api);
  api.put(storedPod());
  expect(await act(call, steps, api.cluster)).toMatchObject({ kind: "again" });
  expect(api.view.attachments.get("anything")).toBeUndefined();
  expect([...api.view.attachments.values()]).toEqual([]);
});

it("emits an event on the workload that says why its Mountpoint Pod cannot be created, and fails", async () => {
  const api = fakeCluster();
  const refusing = {
    ...api.cluster.client,
    create: () => Promise.reject(new ApiError(403, "Forbidden", "over quota")),
  };
  const acting = act(call, stepsFor(api), { ...api.cluster, client: refusing });
  await expect(acting).rejects.toThrow("over quota");
  expect(api.events).toEqual([
    expect.stringMatching(/^w1: MountpointPodRefused: .*PersistentVolume data .*namespace mount-s3: over quota/),
  ]);
});

it.for([new Error("socket hang up"), new DriverError("notReady", "timed out")])(
  "emits no event when the request for a Mountpoint Pod or its answer is lost: %s",
  async (lost) => {
    const api = fakeCluster();
    const client = { ...api.cluster.client, create: () => Promise.reject(lost) };
    await expect(act(call, stepsFor(api), { ...api.cluster, client })).rejects.toThrow(lost);
    expect(api.events).toEqual([]);
  },
);

it.for([429, 500, 503, 504])(
  "SC-6 %i is the state of the API server: one event if it lasts for a minute, and one again after a success",
  async (code) => {
    vi.useFakeTimers({ toFake: ["performance"] });
    const api = fakeCluster();
    const refusing = { ...api.cluster.client, create: () => Promise.reject(new ApiError(code, "", "no time")) };
    const steps = stepsFor(api);
    const refused = async (afterMs: number) => {
      vi.advanceTimersByTime(afterMs);
      await expect(act(call, steps, { ...api.cluster, client: refusing })).rejects.toThrow("no time");
      return api.events.length;
    };
    expect([await refused(0), await refused(59_999), await refused(1), await refused(3_600_000)]).toEqual([0, 0, 1, 1]);
    expect(api.events).toEqual([expect.stringMatching(/^w1: MountpointPodRefused: .*no time/)]);

    await act(call, steps, api.cluster);
    expect([await refused(0), await refused(59_999), await refused(1)]).toEqual([1, 1, 2]);
  },
);

it.for<Partial<AttachmentSpec>>([
  { nodeName: "other" as NodeName },
  { persistentVolumeName: "other" as PvName },
  { volumeID: "other" as VolumeId },
  { mountOptions: "edited by hand" },
  { workloadFSGroup: "2000" },
])("fails, with an event on the workloads, when an attachment with another key has the name: %j", async (but) => {
  const api = fakeCluster();
  api.view.workloads.put("shop/w1", "1", workload(w1));
  const steps = stepsFor(api);
  const { metadata, spec } = attachment({ [mp(w1)]: [w1] });
  api.put({ metadata, spec: { ...spec, ...but } });
  await expect(act(call, steps, api.cluster)).rejects.toThrow("already exists, but for another node or volume");
  expect(api.events).toEqual([
    expect.stringMatching(/^w1: AttachmentRefused: .*PersistentVolume data .*kubectl delete s3pa s3pa-/),
  ]);
});

it.for<{ it: string; but: Partial<AttachmentSpec> }>([
  { it: "is the wanted one", but: {} },
  { it: "has other workloads", but: attachment({ [mp(w2)]: [w2] }).spec },
  { it: "was made by 2.x", but: { authenticationSource: "secret" } },
])("decides again, without an event, when an attachment with the same key has the name, which $it", async ({ but }) => {
  const api = fakeCluster();
  api.view.workloads.put("shop/w1", "1", workload(w1));
  const steps = stepsFor(api);
  // The view shows it before the answer: a request whose answer was lost created it, or another replica did.
  const { metadata, spec } = attachment({ [mp(w1)]: [w1] });
  api.put({ metadata, spec: { ...spec, ...but } });
  expect(await act(call, steps, api.cluster)).toMatchObject({ kind: "again" });
  expect(api.events).toEqual([]);
  expect([...api.view.attachments.values()].map((each) => each.spec)).toEqual([{ ...spec, ...but }]);
});

it("decides again, without an event, before the view shows which attachment has the name", async () => {
  const api = fakeCluster();
  api.view.workloads.put("shop/w1", "1", workload(w1));
  const [, creation] = stepsFor(api);
  if (creation?.do !== "createAttachment") throw new Error("the second step creates no attachment");
  api.delayView();
  api.put({ ...attachment({ [mp(w2)]: [w2] }, { mountOptions: "edited by hand" }) } as unknown as Stored);
  const acting = act(call, [creation], api.cluster);
  await setImmediate();
  api.showInView();
  expect(await acting).toMatchObject({ kind: "again" });
  expect(api.events).toEqual([]);
});

it("fails, with an event on the workload, when a Pod for another volume has the name", async () => {
  const api = fakeCluster();
  const steps = stepsFor(api);
  const edited = {
    metadata: { annotations: { [annotations.volumeName]: "other" }, labels: { [labels.volumeName]: "other" } },
  };
  api.put(merged(storedPod(), edited) as Stored);
  await expect(act(call, steps, api.cluster)).rejects.toThrow("already exists, but for another node or volume");
  expect(api.events).toEqual([
    expect.stringMatching(/^w1: MountpointPodRefused: .*kubectl delete pod -n mount-s3 mp-/),
  ]);
});

it("reports a problem of a Mountpoint Pod on the workload", async () => {
  const api = fakeCluster();
  const step: Step = { do: "report", workload: workload(w1), reason: "MountpointPodUnschedulable", because: "no room" };
  expect(await act(call, [step], api.cluster)).toEqual({ kind: "done" });
  expect(api.events).toEqual(["w1: MountpointPodUnschedulable: no room"]);
});

it("reports a refused volume on the workload and on its claim", async () => {
  const api = fakeCluster();
  const claim = { namespace: "shop", name: "data", uid: "uid of claim", volume: volume.name };
  api.view.claims.put("shop/data", "1", claim);
  const { steps } = decide(
    seen({ volume: { name: volume.name, refused: "name the bucket" }, workloads: [workload(w1)] }),
  );
  expect(await act(call, steps, api.cluster)).toEqual({ kind: "done" });
  expect(api.events).toEqual(["w1: VolumeRefused: name the bucket", "data: VolumeRefused: name the bucket"]);
});

it("emits an event about a memory limit that is too small, and creates the Pod nevertheless", async () => {
  const api = fakeCluster();
  const attributes = parseVolumeAttributes({ bucketName: "b", mountpointContainerResourcesLimitsMemory: "64Mi" });
  const { steps } = decide(seen({ workloads: [workload(w1)], volume: { ...volume, attributes } }));
  expect(await act(call, steps, api.cluster)).toEqual({ kind: "done" });
  expect(api.events).toEqual([expect.stringMatching(/^w1: VolumeQuestionable: .*leaves 64 MiB to mount-s3/)]);
  expect(api.view.mountpointPods.get(`mount-s3/${mp(w1)}`)).toBeDefined();
});
