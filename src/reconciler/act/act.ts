/** Performs the steps of a decision against the API server. */
import type { AttachmentSpec } from "../../core/attachment.ts";
import { DriverError } from "../../core/errors.ts";
import { eventCatalogue } from "../../core/failures/event-catalogue.ts";
import type { MountpointPod } from "../../core/mountpoint-pod-state.ts";
import { mountpointPodName, type NodeName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { Outcome } from "../../kube/controller/work-queue.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import { keyOf } from "../../kube/watch/store.ts";
import type { Call } from "../../runtime/call.ts";
import type { Step } from "../decision/decision.ts";
import {
  type MountpointPodConfig,
  type MountpointPodPurpose,
  mountpointPod,
} from "../domain/mountpoint-pod/mountpoint-pod.ts";
import { volumeOnNodeKey } from "../domain/volume-on-node.ts";
import type { View } from "../observe/view.ts";
import { annotate } from "./annotate.ts";
import { attempt, type Result, untilPod } from "./attempt.ts";
import { giveUpMove, isLastingRefusal } from "./give-up-move.ts";
import type { LastingRefusals } from "./lasting-refusals.ts";
import { nameTaken } from "./name-taken.ts";
import { warnOfSettings } from "./settings-warnings.ts";
import { mayHaveWritten, type Target, type UnconfirmedWrites } from "./unconfirmed-writes.ts";
import { warn, warnOfVolume } from "./warn.ts";
import { writeAttachment } from "./write-attachment.ts";

export interface Cluster {
  readonly client: Pick<KubeClient, "create" | "patch" | "delete">;
  readonly reader: Pick<KubeClient, "get">;
  readonly events: Pick<EventRecorder, "record">;
  readonly refusals: LastingRefusals;
  readonly unconfirmed: Pick<UnconfirmedWrites, "add">;
  readonly view: View;
  readonly mountpointPods: MountpointPodConfig;
}

/**
 * Performs the steps in order, and waits after each until the view shows its result, so that the next decision about this volume on this
 * node is based on it. Otherwise, after a later step has failed, the next decision could assign a workload to a Mountpoint Pod that
 * has just got the needs-unmount annotation.
 */
export async function act(call: Call, steps: readonly Step[], cluster: Cluster): Promise<Outcome> {
  for (const step of steps) {
    call.signal.throwIfAborted();
    call.log.info("reconcile step", fieldsOf(step));
    let result: Performed;
    try {
      result = await perform(call, step, cluster);
    } catch (error) {
      if (mayHaveWritten(error)) for (const target of targetOf(step)) cluster.unconfirmed.add(target);
      throw error;
    }
    if (result === "outdated") return { kind: "again", afterMs: 0, because: "another client changed the object first" };
    // The later steps rely on the successor.
    if (result === "refused") return { kind: "again", afterMs: 0, because: "the API server refused a successor" };
  }
  return { kind: "done" };
}

/** refused: a successor, so its move is given up. */
type Performed = Result | "refused";

function perform(call: Call, step: Step, cluster: Cluster): Promise<Performed> {
  if ("mountpointPod" in step) {
    if (step.do === "deleteMountpointPod") return deleteMountpointPod(call, cluster, step);
    return step.do === "labelMountpointPod" ? labelMountpointPod(call, cluster, step) : annotate(call, cluster, step);
  }
  if ("attachment" in step) return writeAttachment(call, cluster, step);
  switch (step.do) {
    case "report":
      warn(call, cluster, step.workload, { reason: step.reason, message: step.because });
      return Promise.resolve("accepted");
    case "reportVolume":
      warnOfVolume(call, cluster, step, { reason: step.reason, message: step.because });
      return Promise.resolve("accepted");
    case "createMountpointPod":
      return createMountpointPod(call, cluster, step);
    default:
      return step satisfies never;
  }
}

/** PR-10. The write that names the volume on a Mountpoint Pod which waited is accepted once, so the warnings are emitted once for each. */
async function labelMountpointPod(
  call: Call,
  cluster: Cluster,
  step: Step & { do: "labelMountpointPod" },
): Promise<Result> {
  const result = await annotate(call, cluster, step);
  const { mountpointPod: taken, volume } = step;
  if (result === "accepted" && volume !== undefined) {
    for (const workload of cluster.view.workloads.by("uid", taken.createdFor)) {
      warnOfSettings(call, cluster, workload, volume);
    }
  }
  return result;
}

async function deleteMountpointPod(
  call: Call,
  cluster: Cluster,
  { mountpointPod: pod, ifNodeIsGone }: Step & { do: "deleteMountpointPod" },
): Promise<Result> {
  // While there is a Node, the stale cleanup asks again. The Pod garbage collector usually deletes the Pod earlier.
  if (ifNodeIsGone === true && (await hasNode(call, cluster, pod.node))) return "accepted";
  const { name, uid, resourceVersion } = pod;
  const ref = { name, namespace: cluster.mountpointPods.namespace };
  // Precondition on the version: a Pod that had not started when it was observed may have started since.
  const deletion = cluster.client.delete(call, kinds.pods, ref, { uid, resourceVersion });
  const result = await attempt(deletion, "isConflict");
  await untilPod(call, cluster, name, (seen) => seen?.resourceVersion !== resourceVersion);
  return result;
}

async function hasNode(call: Call, { reader }: Cluster, name: NodeName): Promise<boolean> {
  try {
    return (await reader.get(call, kinds.nodes, { name })) !== undefined;
  } catch (error) {
    // Without permission to get Nodes, nothing proves that the Node is gone.
    if (error instanceof ApiError && error.isForbidden) return true;
    throw error;
  }
}

async function createMountpointPod(
  call: Call,
  cluster: Cluster,
  { workload, purpose, move }: Step & { do: "createMountpointPod" },
): Promise<Performed> {
  const { namespace } = cluster.mountpointPods;
  const { name: volume } = purpose.volume;
  const refusals = { all: cluster.refusals, key: `${workload.uid}/${volume}` };
  let result: Result;
  try {
    result = await makePod(call, cluster, purpose);
    refusals.all.ended(refusals.key);
  } catch (error) {
    const refusal = refusalIn(error);
    if (move !== undefined && refusal !== undefined && isLastingRefusal(error)) {
      call.log.error("a successor was refused", { mountpointPod: move.from.name, error });
      await giveUpMove(call, cluster, move, refusal.message);
      return "refused";
    }
    const isReported = !isServerState(error) || refusals.all.isReportDue(refusals.key);
    if (refusal !== undefined && isReported) {
      const message = `The Mountpoint Pod of PersistentVolume ${volume} cannot be created in namespace ${namespace}: ${refusal.message}`;
      warn(call, cluster, workload, { reason: "MountpointPodRefused", message, fix: refusal.fix });
    }
    throw error;
  }
  warnOfSettings(call, cluster, workload, purpose.volume);
  return result;
}

/** Why the API server refused the Pod; undefined: the request or its answer was lost. */
function refusalIn(error: unknown): { readonly message: string; readonly fix: string } | undefined {
  const { fix } = eventCatalogue.MountpointPodRefused;
  if (error instanceof ApiError) return { message: error.message, fix };
  if (!(error instanceof DriverError && error.kind === "exists")) return undefined;
  return { message: error.message, fix: error.hint ?? fix };
}

/** The answer says nothing about the Pod. */
function isServerState(error: unknown): boolean {
  return error instanceof ApiError && error.isServerState;
}

async function makePod(call: Call, cluster: Cluster, purpose: MountpointPodPurpose): Promise<Result> {
  const pod = mountpointPod(cluster.mountpointPods, purpose);
  const { name, namespace } = pod.metadata;
  const result = await attempt(cluster.client.create(call, kinds.pods, pod), "isAlreadyExists");
  await untilPod(call, cluster, name, (seen) => seen !== undefined);
  const seen = cluster.view.mountpointPods.get(keyOf({ namespace, name }));
  if (seen === undefined || isFor(seen, purpose)) return result;
  throw nameTaken(`Pod ${name}`, `kubectl delete pod -n ${namespace} ${name}`);
}

/** A Pod for another node or volume is never observed by the decisions about this one. */
function isFor({ node, persistentVolume }: MountpointPod, purpose: MountpointPodPurpose): boolean {
  return node === purpose.node && persistentVolume === purpose.volume.name;
}

function fieldsOf(step: Step): Readonly<Record<string, unknown>> {
  const fields = { step: step.do, because: step.because };
  if ("mountpointPod" in step) return { ...fields, mountpointPod: step.mountpointPod.name };
  switch (step.do) {
    case "report":
    case "reportVolume":
      return { ...fields, reason: step.reason, workload: keyOf(step.workload) };
    case "createMountpointPod":
      return { ...fields, mountpointPod: podToCreate(step), workload: keyOf(step.workload) };
    case "confirmAttachment":
    case "createAttachment":
    case "deleteAttachment":
      return { ...fields, ...attachmentFields(step.attachment.metadata.name, step.attachment.spec) };
    case "rewriteAttachment":
      return { ...fields, ...attachmentFields(step.attachment.metadata.name, step.spec) };
    default:
      return step satisfies never;
  }
}

/** Empty: a step that writes nothing, or a label that no decision relies on. */
function targetOf(step: Step): readonly Target[] {
  if ("mountpointPod" in step) {
    const { name } = step.mountpointPod;
    const key = volumeOnNodeKey(step.mountpointPod);
    return step.do === "labelMountpointPod" ? [] : [{ key, kind: "mountpointPod", name }];
  }
  if ("attachment" in step) {
    const { spec, metadata } = step.attachment;
    const key = volumeOnNodeKey({ node: spec.nodeName, persistentVolume: spec.persistentVolumeName });
    return [{ key, kind: "attachment", name: metadata.name }];
  }
  if (step.do !== "createMountpointPod") return [];
  const { node, volume } = step.purpose;
  const key = volumeOnNodeKey({ node, persistentVolume: volume.name });
  return [{ key, kind: "mountpointPod", name: podToCreate(step) }];
}

function podToCreate({ purpose }: Step & { do: "createMountpointPod" }): string {
  return mountpointPodName(purpose.workload, purpose.volume.name, purpose.generation);
}

/** A list where an attachment has several Mountpoint Pods. */
function attachmentFields(attachment: string, spec: Pick<AttachmentSpec, "mountpointS3PodAttachments">) {
  const names = Object.keys(spec.mountpointS3PodAttachments);
  return { attachment, mountpointPod: names.length === 1 ? names[0] : names };
}
