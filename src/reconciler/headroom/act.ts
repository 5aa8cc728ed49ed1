/** Performs the steps of a decision about headroom against the API server. Every step can be repeated. */

import { headroom } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import { keyOf } from "../../kube/watch/store.ts";
import type { Call } from "../../runtime/call.ts";
import { warn } from "../act/warn.ts";
import { type HeadroomConfig, type HeadroomPod, headroomPod } from "../domain/mountpoint-pod/headroom-pod.ts";
import type { MountpointPodConfig } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import type { Reservation } from "../domain/reservation.ts";
import type { Step } from "./decide.ts";

export interface Cluster {
  readonly client: Pick<KubeClient, "create" | "patch" | "delete">;
  readonly events: Pick<EventRecorder, "record">;
  readonly mountpointPods: MountpointPodConfig;
  readonly headroom: HeadroomConfig;
}

export async function act(call: Call, steps: readonly Step[], cluster: Cluster): Promise<void> {
  for (const step of steps) {
    call.signal.throwIfAborted();
    call.log.info("headroom step", fieldsOf(step));
    await perform(call, step, cluster);
  }
}

function perform(call: Call, step: Step, cluster: Cluster): Promise<void> {
  switch (step.do) {
    case "report":
      warn(call, cluster, step.reservation, { reason: step.reason, message: step.because });
      return Promise.resolve();
    case "labelWorkload":
      return patchWorkload(call, cluster, step.reservation, labelling(step.reservation));
    case "createHeadroomPod":
      return createHeadroomPod(call, cluster, step);
    case "removeGate":
      return patchWorkload(call, cluster, step.reservation, ungating(step.reservation));
    case "deleteHeadroomPod":
      return deleteHeadroomPod(call, cluster, step.headroomPod);
    default:
      return step satisfies never;
  }
}

function labelling({ uid }: Reservation): object {
  return { metadata: { uid, labels: { [headroom.workloadLabel]: uid } } };
}

/** The patch replaces the whole list. It cannot restore a gate that was removed meanwhile: the API server refuses new gates. */
function ungating({ uid, otherGates }: Reservation): object {
  const schedulingGates = otherGates.length === 0 ? null : otherGates.map((name) => ({ name }));
  return { metadata: { uid }, spec: { schedulingGates } };
}

async function patchWorkload(call: Call, cluster: Cluster, workload: Reservation, patch: object): Promise<void> {
  const { name, namespace } = workload;
  try {
    await cluster.client.patch(call, kinds.pods, { name, namespace }, patch);
  } catch (error) {
    // The Pod is gone, or another Pod has its name: the watch delivers that.
    if (error instanceof ApiError && (error.isNotFound || error.isConflict)) return;
    if (error instanceof ApiError && error.isForbidden) {
      const message = `The scheduling gate ${headroom.gate} cannot be handled: ${error.message}`;
      const fix = "Upgrade the chart, which grants the right where mountpointPod.headroom.enabled is set.";
      warn(call, cluster, workload, { reason: "HeadroomNotReserved", message, fix });
    }
    throw error;
  }
}

async function createHeadroomPod(
  call: Call,
  cluster: Cluster,
  { reservation, volume }: Step & { do: "createHeadroomPod" },
): Promise<void> {
  const pod = headroomPod(cluster.headroom, cluster.mountpointPods, reservation, volume);
  try {
    await cluster.client.create(call, kinds.pods, pod);
  } catch (error) {
    if (!(error instanceof ApiError && isRefusal(error))) throw error;
    if (error.isAlreadyExists) return;
    // A quota or an admission policy refuses the Pod: the workload must not wait for a change of those.
    const message = `No room is reserved for the Mountpoint Pod of PersistentVolume ${volume.name}: its headroom Pod cannot be created in namespace ${pod.metadata.namespace}: ${error.message}`;
    const fix = "Change the quota or policy of that namespace.";
    warn(call, cluster, reservation, { reason: "HeadroomNotReserved", message, fix });
  }
}

/** A retry would get the same answer. */
function isRefusal({ code }: ApiError): boolean {
  return code >= 400 && code < 500 && code !== 429;
}

async function deleteHeadroomPod(call: Call, cluster: Cluster, { name, uid }: HeadroomPod): Promise<void> {
  const ref = { name, namespace: cluster.mountpointPods.namespace };
  try {
    await cluster.client.delete(call, kinds.pods, ref, { uid });
  } catch (error) {
    if (!(error instanceof ApiError && error.isConflict)) throw error; // another Pod has its name
  }
}

function fieldsOf(step: Step): Readonly<Record<string, unknown>> {
  const fields = { step: step.do, because: step.because };
  return "headroomPod" in step
    ? { ...fields, headroomPod: step.headroomPod.name }
    : { ...fields, workload: keyOf(step.reservation) };
}
