/** Performs the steps of a rollout against the API server. Every step can be repeated. */
import { annotations, type NodeName, type PodName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import { attempt, untilPod, type Viewed } from "../act/attempt.ts";
import { usable } from "../decision/rollout-in.ts";
import type { MountpointPodConfig } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import { type CurrentSettings, rolloutRequest } from "../domain/rollout.ts";
import type { Step } from "./decide.ts";
import { freeRoom, type NodeFacts, obstacleOf } from "./node-facts.ts";
import type { RolloutConfig } from "./settings.ts";
import type { Tracked } from "./tracker.ts";

export interface Cluster extends Viewed {
  readonly client: Pick<KubeClient, "patch">;
  readonly current: CurrentSettings;
  /** Gets the Pods whose workloads are asked to leave them. */
  readonly asked: { set(name: PodName, pod: Tracked): void; delete(name: PodName): void };
}

type Request = Step & { readonly do: "begin" | "withdraw" };

export interface Looking {
  readonly reader: Pick<KubeClient, "get" | "find" | "listCached">;
  readonly mountpointPods: Pick<MountpointPodConfig, "tolerations">;
  readonly rollout: Pick<RolloutConfig, "allowsGap">;
}

/** Rejects with the first problem after all steps: a node or a Pod whose requests are refused does not hold up the others. */
export async function performAll(
  { signal }: Pick<Call, "signal">,
  steps: readonly Step[],
  perform: (step: Step) => Promise<void>,
): Promise<void> {
  const problems: unknown[] = [];
  for (const step of steps) {
    signal.throwIfAborted();
    try {
      await perform(step);
    } catch (error) {
      problems.push(error);
    }
  }
  if (problems.length > 0) throw problems[0];
}

/** Sets the request to move, or removes it, if the Pod has not changed since it was observed: an operator's own request stays. */
export async function request(call: Call, cluster: Cluster, { pod, ...step }: Request): Promise<void> {
  const { name, uid, resourceVersion, node, persistentVolume } = pod;
  const volume = usable(cluster.view.volumes.get(persistentVolume));
  if (volume === undefined) {
    // It has gone since: the next decision knows, and must not repeat an earlier request, which would end here, too.
    cluster.asked.delete(name);
    return;
  }
  const value = step.do === "begin" ? rolloutRequest(volume, cluster.current) : null;
  call.log.info("rollout step", { step: step.do, mountpointPod: name, node, volume: persistentVolume });
  // In the same turn as the request: its answer may be lost.
  if (step.do === "begin") cluster.asked.set(name, pod);
  const ref = { name, namespace: cluster.mountpointPods.namespace };
  const patch = { metadata: { uid, resourceVersion, annotations: { [annotations.move]: value } } };
  await attempt(cluster.client.patch(call, kinds.pods, ref, patch), "isConflict", "isNotFound");
  await untilPod(call, cluster, name, (seen) => seen?.resourceVersion !== resourceVersion);
}

/**
 * LC-21. Finds out whether a request whose answer was lost has arrived, where it is not to be repeated. Every request is conditional on the
 * version of the Pod, so the same version proves that it has not. Otherwise the view is about to show the Pod as it is.
 */
export async function check(
  call: Call,
  cluster: Viewed & Pick<Looking, "reader"> & Pick<Cluster, "asked">,
  { name, uid, resourceVersion }: Tracked,
): Promise<void> {
  const { namespace } = cluster.mountpointPods;
  const { object: found } = await cluster.reader.find(call, kinds.pods, { name, namespace });
  if (found?.metadata.uid === uid && found.metadata.resourceVersion === resourceVersion) cluster.asked.delete(name);
  else await untilPod(call, cluster, name, (seen) => seen?.resourceVersion !== resourceVersion);
}

/**
 * Reads the Node and, unless it prevents moves already, all of its Pods. What may not be read is not known: that prevents nothing. The
 * facts are as old as the answer, however long that took.
 */
export async function look(
  call: Call,
  { reader, mountpointPods, rollout }: Looking,
  name: NodeName,
): Promise<NodeFacts> {
  const { tolerations } = mountpointPods;
  try {
    const node = await reader.get(call, kinds.nodes, { name });
    const obstacle = obstacleOf(node, tolerations);
    if (node === undefined || obstacle === "notReady" || (obstacle === "kernel" && !rollout.allowsGap)) {
      return { lookedAt: new Date(), obstacle, free: undefined };
    }
    const pods = await reader.listCached(call, kinds.pods, { fieldSelector: `spec.nodeName=${name}` });
    return { lookedAt: new Date(), obstacle, free: freeRoom(node, pods) };
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) {
      return { lookedAt: new Date(), obstacle: undefined, free: undefined };
    }
    throw error;
  }
}
