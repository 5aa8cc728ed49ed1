/** Annotations and labels that the reconciler sets on Mountpoint Pods. */
import { annotations } from "../../core/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import type { ObservedAttachment, Step } from "../decision/decision.ts";
import { assignmentPatch } from "../domain/mountpoint-pod/warm-pod.ts";
import { failedRequests } from "../domain/move.ts";
import { attempt, type Result, untilAttachment, untilPod, untilWaitingPod, type Viewed } from "./attempt.ts";

export interface Annotating extends Viewed {
  readonly client: Pick<KubeClient, "patch">;
}

type AnnotatingStep = Step & { do: "annotateForUnmount" | "labelMountpointPod" | "annotateFailedMove" };

export function annotate(call: Call, cluster: Annotating, step: AnnotatingStep): Promise<Result> {
  switch (step.do) {
    case "annotateForUnmount":
      return annotateForUnmount(call, cluster, step);
    case "labelMountpointPod":
      return labelMountpointPod(call, cluster, step);
    case "annotateFailedMove":
      return annotateFailedMove(call, cluster, step);
    default:
      return step satisfies never;
  }
}

async function annotateForUnmount(
  call: Call,
  cluster: Annotating,
  { mountpointPod: { name, uid }, listedBy = [], movedTo }: Step & { do: "annotateForUnmount" },
): Promise<Result> {
  for (const attachment of listedBy) {
    if ((await confirmUnchanged(call, cluster, attachment)) === "outdated") return "outdated";
  }
  const ref = { name, namespace: cluster.mountpointPods.namespace };
  const set = {
    [annotations.needsUnmount]: "true",
    [annotations.needsUnmountSince]: new Date().toISOString(),
    ...(movedTo === undefined ? {} : { [annotations.movedTo]: movedTo }),
  };
  const patch = { metadata: { uid, annotations: set } };
  const result = await attempt(cluster.client.patch(call, kinds.pods, ref, patch), "isConflict", "isNotFound");
  await untilPod(call, cluster, name, (pod) => pod?.uid !== uid || pod.needsUnmountSince !== undefined);
  return result;
}

export async function annotateFailedMove(
  call: Call,
  cluster: Annotating,
  { mountpointPod, requests }: Step & { do: "annotateFailedMove" },
): Promise<Result> {
  const { name, uid } = mountpointPod;
  const ref = { name, namespace: cluster.mountpointPods.namespace };
  const failed = failedRequests(mountpointPod, requests).join("\n");
  const patch = { metadata: { uid, annotations: { [annotations.moveFailed]: failed } } };
  const result = await attempt(cluster.client.patch(call, kinds.pods, ref, patch), "isConflict", "isNotFound");
  await untilPod(
    call,
    cluster,
    name,
    (pod) => pod?.uid !== uid || requests.every((request) => pod.move.failed.includes(request)),
  );
  return result;
}

/** The version that was observed: the Pod is not to get a second volume. */
async function labelMountpointPod(
  call: Call,
  cluster: Annotating,
  { mountpointPod, volume }: Step & { do: "labelMountpointPod" },
): Promise<Result> {
  const { name, resourceVersion } = mountpointPod;
  const ref = { name, namespace: cluster.mountpointPods.namespace };
  const patch = cluster.client.patch(call, kinds.pods, ref, assignmentPatch(mountpointPod, volume));
  const result = await attempt(patch, "isConflict", "isNotFound");
  await untilWaitingPod(call, cluster, name, (pod) => pod?.resourceVersion !== resourceVersion);
  return result;
}

/**
 * SC-7. The view may lack a write of ours whose answer was lost, or which the watch has not shown in time: a workload that the attachment
 * lists by now would lose its Mountpoint Pod. A patch that changes nothing makes no new version, and is refused if the version is not
 * that of the view.
 */
export async function confirmUnchanged(
  call: Call,
  cluster: Annotating,
  { metadata }: Pick<ObservedAttachment, "metadata">,
): Promise<Result> {
  const { name, resourceVersion } = metadata;
  const patch = cluster.client.patch(call, kinds.attachments, { name }, { metadata: { resourceVersion } });
  const result = await attempt(patch, "isConflict", "isNotFound");
  if (result === "outdated")
    await untilAttachment(call, cluster, name, (seen) => seen?.metadata.resourceVersion !== resourceVersion);
  return result;
}
