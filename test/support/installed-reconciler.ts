/** The reconciler that the chart installed, as a process that a test can stop. */
import type { ProcessId } from "../../lab/process-id.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import type { Cluster, PodRef } from "./cluster.ts";
import { processOf } from "./container-process.ts";

const namespace = "kube-system";
export const reconcilerContainer = "s3-pod-reconciler";

export async function reconcilerPod(cluster: Cluster): Promise<PodRef> {
  const pods = await cluster.list<Pod>("pods", "-n", namespace, "-l", "app=s3-csi-controller");
  const pod = pods.find(({ metadata }) => metadata.deletionTimestamp === undefined);
  return { namespace, name: pod?.metadata.name ?? "" };
}

export async function reconcilerProcess(cluster: Cluster): Promise<ProcessId> {
  const pod = await reconcilerPod(cluster);
  const process = await processOf(cluster, pod, reconcilerContainer);
  if (process === undefined) throw new Error(`the reconciler of ${pod.name} does not run`);
  return process;
}
