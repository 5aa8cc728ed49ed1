import { expect, it } from "vitest";
import { mountpointPodFrom } from "../../core/mountpoint-pod-state.ts";
import { warmPodName } from "../../core/names.ts";
import { parseVolumeAttributes } from "../../core/volume/volume-attributes.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import { silentLogger } from "../../runtime/log.ts";
import type { Step } from "../decision/decision.ts";
import { node, pod, volume, w1, workload } from "../decision/situation.fixture.ts";
import type { ReportedWaitingPod } from "../domain/mountpoint-pod/warm-pod.ts";
import { act, type Cluster } from "./act.ts";
import { fakeCluster, storedPod } from "./fake-cluster.fixture.ts";

const call = { signal: new AbortController().signal, log: silentLogger };

it("PR-10 emits the events about the settings of a volume on the workload when its Mountpoint Pod has waited for a volume, once", async () => {
  const api = fakeCluster();
  api.view.workloads.put("shop/w1", "1", workload(w1));
  const name = warmPodName("term", node, 0);
  const waiting = { ...mountpointPodFrom(storedPod()), name, warmSettings: "", problem: undefined };
  api.view.waitingPods.put(`mount-s3/${name}`, "1", waiting as unknown as ReportedWaitingPod);
  const attributes = parseVolumeAttributes({ bucketName: "b", mountpointContainerResourcesLimitsMemory: "64Mi" });
  const step: Step = {
    do: "labelMountpointPod",
    mountpointPod: pod(name, { createdFor: w1 }),
    volume: { ...volume, attributes, fallback: "its class names none" },
    because: "test",
  };
  const answers = [() => Promise.resolve(), () => Promise.reject(new ApiError(409, "Conflict", "labelled"))];
  const patch = () => {
    api.view.waitingPods.remove(`mount-s3/${name}`);
    return answers.shift()?.();
  };
  const client = { ...api.cluster.client, patch } as unknown as Cluster["client"];
  expect(await act(call, [step], { ...api.cluster, client })).toEqual({ kind: "done" });
  expect(api.events).toEqual([
    expect.stringMatching(/^w1: VolumeQuestionable: /),
    expect.stringMatching(/^w1: DriverCredentialsUsed: .*its class names none/),
  ]);

  expect(await act(call, [step], { ...api.cluster, client })).toMatchObject({ kind: "again" });
  expect(api.events).toHaveLength(2);
});
