/** Creates and deletes Mountpoint Pods that wait for a volume. */
import { DriverError } from "../../core/errors.ts";
import type { NodeName } from "../../core/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import { attempt, type Result, untilWaitingPod, type Viewed } from "../act/attempt.ts";
import type { MountpointPodConfig } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import { type ReportedWaitingPod, type WarmOwner, warmPod } from "../domain/mountpoint-pod/warm-pod.ts";
import type { WarmHistory } from "./history.ts";
import type { WarmPool } from "./pool.ts";
import type { WarmConfig } from "./settings.ts";

export interface WarmCluster extends Viewed {
  readonly client: Pick<KubeClient, "create" | "delete">;
  readonly reader: Pick<KubeClient, "get">;
  readonly mountpointPods: MountpointPodConfig;
  readonly warm: WarmConfig;
  readonly pool: Pick<WarmPool, "settings">;
}

export async function createWarmPod(
  call: Call,
  cluster: WarmCluster,
  history: WarmHistory,
  node: NodeName,
): Promise<Result> {
  const owner = await ownerOf(call, cluster);
  const name = history.nextName(node);
  const { settings } = cluster.pool;
  const pod = warmPod(cluster.mountpointPods, { name, node, owner, settings });
  const result = await attempt(cluster.client.create(call, kinds.pods, pod), "isAlreadyExists");
  // An earlier request may have created it, and the watch was late: a volume may have taken it before the watch showed it.
  const isTaken = () => cluster.view.mountpointPods.count("warmPod", name) > 0;
  if (!isTaken()) await untilWaitingPod(call, cluster, name, (seen) => seen !== undefined || isTaken());
  history.created(node);
  return result;
}

/** Precondition on the version: a Pod that was edited since it was observed is looked at again. */
export async function deleteWarmPod(
  call: Call,
  cluster: WarmCluster,
  { name, uid, resourceVersion }: ReportedWaitingPod,
): Promise<Result> {
  const ref = { name, namespace: cluster.mountpointPods.namespace };
  const result = await attempt(
    cluster.client.delete(call, kinds.pods, ref, { uid, resourceVersion }),
    "isConflict",
    "isNotFound",
  );
  await untilWaitingPod(call, cluster, name, (seen) => seen?.resourceVersion !== resourceVersion);
  return result;
}

/**
 * Read for every Mountpoint Pod: the garbage collector deletes a Pod at once whose owner has another UID or is gone. So none is created after
 * `helm uninstall`, a rollback to 2.x, or the hook of an uninstallation, each of which deletes the owner.
 */
async function ownerOf(call: Call, { reader, warm, mountpointPods }: WarmCluster): Promise<WarmOwner> {
  const { namespace } = mountpointPods;
  const owner = await reader.get(call, kinds.configMaps, { name: warm.owner, namespace });
  if (owner !== undefined && owner.metadata.deletionTimestamp === undefined) {
    return { name: warm.owner, uid: owner.metadata.uid };
  }
  throw new DriverError("missing", `there is no ConfigMap ${warm.owner} in namespace ${namespace}`, {
    hint: "No Mountpoint Pods wait for volumes without it. Upgrade the chart, which creates it where mountpointPod.warm.perNode is set.",
  });
}
