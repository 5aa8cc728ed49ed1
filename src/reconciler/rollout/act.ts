/** Performs the steps of a rollout against the API server. Every step can be repeated. */
import { annotations, type NodeName } from "../../core/names.ts";
import { ApiError } from "../../kube/client/api-error.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import { attempt, untilPod, type Viewed } from "../act/attempt.ts";
import { usable } from "../decision/rollout-in.ts";
import { type CurrentSettings, rolloutRequest } from "../domain/rollout.ts";
import { factsFrom, type NodeFacts } from "./node-facts.ts";
import type { Tracked } from "./tracker.ts";

export interface Cluster extends Viewed {
  readonly client: Pick<KubeClient, "patch">;
  readonly reader: Pick<KubeClient, "get" | "list">;
  readonly current: CurrentSettings;
}

/** Sets the request to move, or removes it, if the Pod has not changed since it was observed: an operator's own request stays. */
export async function request(call: Call, cluster: Cluster, pod: Tracked, what: "begin" | "withdraw"): Promise<void> {
  const { name, uid, resourceVersion, node, persistentVolume } = pod;
  const volume = usable(cluster.view.volumes.get(persistentVolume));
  if (volume === undefined) return; // it has gone since: the next decision knows
  const value = what === "begin" ? rolloutRequest(volume, cluster.current) : null;
  call.log.info("rollout step", { step: what, mountpointPod: name, node, volume: persistentVolume });
  const ref = { name, namespace: cluster.mountpointPods.namespace };
  const patch = { metadata: { uid, resourceVersion, annotations: { [annotations.move]: value } } };
  await attempt(cluster.client.patch(call, kinds.pods, ref, patch), "isConflict", "isNotFound");
  await untilPod(call, cluster, name, (seen) => seen?.resourceVersion !== resourceVersion);
}

/** Reads the Node and all of its Pods. What may not be read, or is gone, is not known: that prevents nothing. */
export async function look(call: Call, { reader }: Cluster, name: NodeName, now: Date): Promise<NodeFacts> {
  const unknown = { lookedAt: now, obstacle: undefined, free: undefined };
  try {
    const node = await reader.get(call, kinds.nodes, { name });
    if (node === undefined) return unknown;
    const pods = await reader.list(call, kinds.pods, { fieldSelector: `spec.nodeName=${name}` });
    return factsFrom(node, pods, now);
  } catch (error) {
    if (error instanceof ApiError && error.isForbidden) return unknown;
    throw error;
  }
}
