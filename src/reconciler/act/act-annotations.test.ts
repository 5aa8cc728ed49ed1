/** The needs-unmount annotation is set only for what was decided: the same Pod, and attachments that have not changed. */
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { annotations } from "../../core/names.ts";
import { silentLogger } from "../../runtime/log.ts";
import type { Step } from "../decision/decision.ts";
import { attachment, mp, pod, w1, w2 } from "../decision/situation.fixture.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { act } from "./act.ts";
import { fakeCluster, type Stored, storedPod } from "./fake-cluster.fixture.ts";

const call = { signal: new AbortController().signal, log: silentLogger };

it("does not annotate another Mountpoint Pod of the same name", async () => {
  const api = fakeCluster();
  api.put(storedPod());
  const former = pod(mp(w1), { uid: w2 });
  const step: Step = { do: "annotateForUnmount", mountpointPod: former, because: "test" };
  expect(await act(call, [step], api.cluster)).toMatchObject({ kind: "again" });
  expect(api.view.mountpointPods.get(`mount-s3/${mp(w1)}`)?.needsUnmount).toBe(false);
});

it("SC-7 does not annotate a Mountpoint Pod whose attachment has changed since it was observed", async () => {
  const api = fakeCluster();
  api.put(storedPod());
  api.put({ ...attachment({ [mp(w1)]: [w1] }) } as unknown as Stored);
  const [listed] = [...api.view.mountpointPods.values()];
  const [listing] = [...api.view.attachments.values()];
  if (listed === undefined || listing === undefined) throw new Error("the view is empty");
  const outdated = { ...listing, metadata: { ...listing.metadata, resourceVersion: "before" } };
  const step: Step = { do: "annotateForUnmount", mountpointPod: listed, listedBy: [outdated], because: "test" };
  expect(await act(call, [step], api.cluster)).toMatchObject({ kind: "again" });
  expect(api.view.mountpointPods.get(`mount-s3/${mp(w1)}`)?.needsUnmount).toBe(false);
});

it("SC-7 decides again only when the view shows why the attachment is not the observed one", async () => {
  const api = fakeCluster();
  api.put(storedPod());
  const written = api.put({ ...attachment({ [mp(w1)]: [w1] }) } as unknown as Stored);
  const [listed] = [...api.view.mountpointPods.values()];
  const listedBy = [...api.view.attachments.values()];
  if (listed === undefined) throw new Error("the view is empty");
  api.delayView();
  api.put(written);
  const order: string[] = [];
  const step: Step = { do: "annotateForUnmount", mountpointPod: listed, listedBy, because: "test" };
  const ended = act(call, [step], api.cluster).then(({ kind }) => order.push(kind));
  await setImmediate();
  order.push("shown");
  api.showInView();
  await ended;
  expect(order).toEqual(["shown", "again"]);
});

it.for([
  [[], ["new"], "new"],
  [["rollout-1"], ["mine", "of the volume"], "rollout-1\nmine\nof the volume"],
  [["again", "rollout-1"], ["again"], "rollout-1\nagain"],
  [["1", "2", "3", "4", "5"], ["6"], "2\n3\n4\n5\n6"],
] as const)("LC-24 remembers the last failed requests: %j, then %j", async ([failed, requests, remembered]) => {
  const api = fakeCluster();
  const stored = storedPod();
  const former = failed.length === 0 ? {} : { [annotations.moveFailed]: failed.join("\n") };
  api.put({ ...stored, metadata: { ...stored.metadata, annotations: { ...stored.metadata.annotations, ...former } } });
  const [mountpointPod] = [...api.view.mountpointPods.values()] as ReportedMountpointPod[];
  if (mountpointPod === undefined) throw new Error("the view is empty");
  await act(call, [{ do: "annotateFailedMove", mountpointPod, requests, because: "test" }], api.cluster);
  const [written] = [...api.objects.values()];
  expect(written?.metadata.annotations?.[annotations.moveFailed]).toBe(remembered);
});
