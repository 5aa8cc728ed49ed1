import { expect, it } from "vitest";
import { noMove } from "../../core/mountpoint-pod-state.ts";
import { annotations } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { silentLogger } from "../../runtime/log.ts";
import { decide } from "../decision/decide.ts";
import { attachment, mp, seen, summary, w1, w2, workload } from "../decision/situation.fixture.ts";
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import { act } from "./act.ts";
import { fakeCluster, type Stored, storedPod } from "./fake-cluster.fixture.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const quota = new ApiError(403, "Forbidden", "exceeded quota");

/** A Mountpoint Pod whose workloads are asked to leave, and an API server that refuses every other one. */
function refusing(refusal: Error) {
  const api = fakeCluster();
  const stored = storedPod();
  const asked = { ...stored.metadata.annotations, [annotations.move]: "rollout-1" };
  api.put({ ...stored, metadata: { ...stored.metadata, annotations: asked } });
  // The successor that it lists has been removed.
  api.put({ ...attachment({ [mp(w1)]: [w1, w2], [mp(w1, 1)]: [] }) } as unknown as Stored);
  const client = { ...api.cluster.client, create: () => Promise.reject(refusal) };
  const decision = () =>
    decide(
      seen({
        workloads: [workload(w1, { phase: "running" }), workload(w2, { phase: "running" })],
        attachments: [...api.view.attachments.values()],
        mountpointPods: [...api.view.mountpointPods.values()] as ReportedMountpointPod[],
      }),
    );
  return { api, cluster: { ...api.cluster, client }, decision };
}

it("LC-24 a successor that the API server refuses is given up, and its list is removed", async () => {
  const { api, cluster, decision } = refusing(quota);
  const { steps } = decision();
  expect(summary({ steps })).toEqual(["create w1#2", expect.stringMatching("^rewrite ")]);
  expect(await act(call, steps, cluster)).toMatchObject({ kind: "again" });
  const [former] = [...api.view.mountpointPods.values()];
  expect(former?.move).toEqual({ ...noMove, requested: "rollout-1", failed: ["rollout-1"] });
  expect(api.events).toEqual([
    expect.stringMatching(/^w1: VolumeNotMoved: .*works as before: .*exceeded quota/),
    expect.stringMatching(/^w2: VolumeNotMoved: /),
  ]);
  await act(call, decision().steps, cluster);
  const [written] = [...api.view.attachments.values()];
  expect(Object.keys(written?.spec.mountpointS3PodAttachments ?? {})).toEqual([mp(w1)]);
  expect(summary(decision())).toEqual([]);
});

it.for([
  [new ApiError(503, "ServiceUnavailable", "no time")],
  [new ApiError(409, "Conflict", "the quota has changed")],
  [new ApiError(401, "Unauthorized", "the token has expired")],
  [new ApiError(500, "InternalError", "failed calling webhook")],
] as const)("LC-24 a refusal that passes by itself is tried again: %s", async ([error]) => {
  const { api, cluster, decision } = refusing(error);
  await expect(act(call, decision().steps, cluster)).rejects.toThrow(error.message);
  expect([...api.view.mountpointPods.values()][0]?.move.failed).toEqual([]);
  expect(api.events.filter((event) => event.includes("VolumeNotMoved"))).toEqual([]);
});
