import { expect, it } from "vitest";
import { plainStores, usualIdentity } from "../../../test/support/fake-credentials.ts";
import { listingClient } from "../../../test/support/listing-client.ts";
import { driverName, headroom, type PodUid } from "../../core/names.ts";
import { Freshness } from "../../kube/watch/freshness.ts";
import { WatchHealth } from "../../kube/watch/watch-health.ts";
import { silentLogger } from "../../runtime/log.ts";
import { Progress } from "../../runtime/progress.ts";
import { attachment, mp, node, volume, w1, workload } from "../decision/situation.fixture.ts";
import { installation } from "../domain/mountpoint-pod/installation.fixture.ts";
import { mountpointPod } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import { emptyView, synced, type View } from "./view.ts";
import { watchCluster } from "./watches.ts";

async function viewOf(
  objects: Readonly<Record<string, readonly object[]>>,
  whileWatching: (view: View) => Promise<void> = async () => undefined,
): Promise<View> {
  const stop = new AbortController();
  const call = { signal: stop.signal, log: silentLogger };
  const view = emptyView();
  const watching = watchCluster(call, listingClient(objects), view, {
    mountpointNamespace: "mount-s3",
    installation: plainStores,
    progress: new Progress(),
    health: new WatchHealth(),
    freshness: new Freshness(),
  });
  await synced(call, view);
  await whileWatching(view);
  stop.abort();
  await watching;
  return view;
}

const metadata = (name: string, namespace?: string) => ({
  ...(namespace && { namespace }),
  name,
  uid: `uid of ${name}`,
  resourceVersion: "1",
  creationTimestamp: "2026-01-15T10:00:00Z",
});

const claims = [{ name: "v", persistentVolumeClaim: { claimName: "data" } }];

function podObject(name: string, but: { namespace?: string; volumes?: object[]; status?: object } = {}) {
  const { namespace = "shop", volumes = claims, status = { phase: "Pending" } } = but;
  return { metadata: metadata(name, namespace), spec: { nodeName: node, volumes }, status };
}

const names = (values: Iterable<{ name: string }>) => [...values].map(({ name }) => name);

it("keeps the Pods that use claims and need them, and no others", async () => {
  const { workloads, mountpointPods } = await viewOf({
    Pod: [
      podObject("web"),
      podObject("scratch", { volumes: [{ name: "v", ephemeral: {} }] }),
      podObject("plain", { volumes: [{ name: "v", emptyDir: {} }] }),
      podObject("done", { status: { phase: "Succeeded" } }),
    ],
  });
  expect(names(workloads.values())).toEqual(["web", "scratch"]);
  expect([...mountpointPods.values()]).toEqual([]);
});

it("parses a Pod once", async () => {
  const { spec, ...pod } = podObject("web");
  let parsed = 0;
  const counting = {
    nodeName: spec.nodeName,
    get volumes() {
      parsed += 1;
      return spec.volumes;
    },
  };
  const { workloads } = await viewOf({ Pod: [{ ...pod, spec: counting }] });
  expect(names(workloads.values())).toEqual(["web"]);
  expect(parsed).toBe(1);
});

it("SE-1 distinguishes Mountpoint Pods from workloads in the same namespace, and from Pods like them in others", async () => {
  const made = mountpointPod(installation, { volume, identity: usualIdentity, workload: w1, node, generation: 0 });
  const { workloads, mountpointPods } = await viewOf({
    Pod: [
      { ...made, metadata: { ...metadata(made.metadata.name), ...made.metadata } },
      { ...made, metadata: { ...metadata(made.metadata.name), ...made.metadata, namespace: "shop" } },
      podObject("job", { namespace: "mount-s3" }),
    ],
  });
  expect(names(mountpointPods.values())).toEqual([mp(w1)]);
  expect(names(workloads.values())).toEqual(["job"]);
});

it("keeps a workload with the scheduling gate as a reservation, too", async () => {
  const { spec, ...rest } = podObject("waiting");
  const { workloads, reservations } = await viewOf({
    Pod: [{ ...rest, spec: { ...spec, schedulingGates: [{ name: headroom.gate }] } }],
  });
  expect(names(workloads.values())).toEqual(["waiting"]);
  expect(names(reservations.values())).toEqual(["waiting"]);
});

it("SC-7 knows since when the Pod cache is synced: a Pod that an attachment named later may still appear", async () => {
  const before = performance.now();
  const { podChanges } = await viewOf({});
  expect(podChanges.isGone("named before the list", before - 1)).toBe(true);
  expect(podChanges.isGone("named since", performance.now())).toBe(false);
});

it("keeps bound claims", async () => {
  const { claims: kept } = await viewOf({
    PersistentVolumeClaim: [
      { metadata: metadata("bound", "shop"), spec: { volumeName: "data" }, status: { phase: "Bound" } },
      { metadata: metadata("asking", "shop"), spec: { volumeName: "data" }, status: { phase: "Pending" } },
      { metadata: metadata("lost", "shop"), spec: { volumeName: "data" }, status: { phase: "Lost" } },
    ],
  });
  expect([...kept.values()]).toEqual([{ namespace: "shop", name: "bound", uid: "uid of bound", volume: "data" }]);
});

const csi = (driver: string, volumeAttributes: object) => ({ csi: { driver, volumeHandle: "h", volumeAttributes } });

it("keeps the volumes of this driver, and for refused ones cause and remedy", async () => {
  const { volumes } = await viewOf({
    PersistentVolume: [
      { metadata: metadata("good"), spec: csi(driverName, { bucketName: "b" }) },
      { metadata: metadata("bad"), spec: csi(driverName, {}) },
      { metadata: metadata("foreign"), spec: csi("other.example.com", {}) },
    ],
  });
  expect(volumes.get("good")).toMatchObject({ name: "good", volumeId: "h" });
  expect(volumes.get("bad")).toEqual({
    name: "bad",
    refused: expect.stringMatching(/^PersistentVolume bad: volumeAttributes\.bucketName .*In the PersistentVolume: /),
  });
  expect(volumes.get("foreign")).toBeUndefined();
});

it("keeps every attachment, whatever its name", async () => {
  const stored = attachment({ [mp(w1)]: [w1] }, { name: "s3pa-of-2-x" });
  const { attachments } = await viewOf({ MountpointS3PodAttachment: [stored] });
  expect(attachments.get("s3pa-of-2-x")).toEqual({ ...stored, observedAtMs: expect.any(Number) });
});

const usesClaims = (...claimNames: string[]) =>
  claimNames.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
const running = { phase: "Running" };

/** One claim of this driver, one of another, one whose volume is unknown, and one that is not bound. */
const bound = {
  PersistentVolumeClaim: [
    { metadata: metadata("ours", "shop"), spec: { volumeName: "ours" }, status: { phase: "Bound" } },
    { metadata: metadata("foreign", "shop"), spec: { volumeName: "foreign" }, status: { phase: "Bound" } },
    { metadata: metadata("unknown", "shop"), spec: { volumeName: "unknown" }, status: { phase: "Bound" } },
    { metadata: metadata("unbound", "shop"), spec: {}, status: { phase: "Pending" } },
  ],
  PersistentVolume: [
    { metadata: metadata("ours"), spec: csi(driverName, { bucketName: "b" }) },
    { metadata: metadata("foreign"), spec: csi("other.example.com", {}) },
  ],
};

it("SC-2 keeps nothing of a running Pod whose volumes all belong to other drivers", async () => {
  const foreign = podObject("foreign", { volumes: usesClaims("foreign"), status: running });
  const kept = podObject("kept", { volumes: usesClaims("ours"), status: running });
  const { podChanges } = await viewOf({ ...bound, Pod: [foreign, kept] }, async ({ workloads }) => {
    await expect.poll(() => names(workloads.values())).toEqual(["kept"]);
  });
  // It is not taken for gone: an attachment that names it may still arrive.
  expect(podChanges.isGone(foreign.metadata.uid, Infinity)).toBe(false);
});

it("SC-7 does not take a Pod for gone that was pending, and is dropped because it uses volumes of others only", async () => {
  const view = emptyView();
  view.attachments.complete();
  view.claims.put("shop/data", "1", { namespace: "shop", name: "data", uid: "uid", volume: volume.name });
  view.foreignVolumes.put(volume.name);
  const pending = { ...workload(w1), phase: "pending" as const };
  view.workloads.put("shop/web", "1", pending);
  view.workloads.remove("shop/web");
  expect(view.podChanges.isGone(w1, Infinity)).toBe(false);
});

it.for([
  ["is not running yet", { volumes: usesClaims("foreign") }],
  ["has a volume of this driver, too", { volumes: usesClaims("foreign", "ours"), status: running }],
  ["has a claim that is not bound", { volumes: usesClaims("foreign", "unbound"), status: running }],
  ["has a volume that is not observed", { volumes: usesClaims("foreign", "unknown"), status: running }],
] as const)("SC-2 keeps a Pod with a volume of another driver that %s", async ([, but]) => {
  const pod = podObject("web", { ...but, volumes: [...but.volumes] });
  // The last of the Pods is forgotten after the others were looked at.
  const last = podObject("last", { volumes: usesClaims("foreign"), status: running });
  const { workloads } = await viewOf({ ...bound, Pod: [pod, last] }, async (view) => {
    await expect.poll(() => names(view.workloads.values())).not.toContain("last");
  });
  expect(names(workloads.values())).toEqual(["web"]);
});

it("LC-10 keeps a Pod that an attachment lists, whatever its volumes are now", async () => {
  const listed = podObject("web", { volumes: usesClaims("foreign"), status: running });
  const last = podObject("last", { volumes: usesClaims("foreign"), status: running });
  const attached = attachment({ [mp(w1)]: [listed.metadata.uid as PodUid] });
  const objects = { ...bound, Pod: [listed, last], MountpointS3PodAttachment: [attached] };
  const { workloads } = await viewOf(objects, async (view) => {
    await expect.poll(() => names(view.workloads.values())).not.toContain("last");
  });
  expect(names(workloads.values())).toEqual(["web"]);
});
