/** Pods whose mount-s3 dies under them: what they notice, and what may not change about them. */
import { expect } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import type { Cluster, PodRef, ReportedEvent } from "./cluster.ts";
import { mountS3Of, onNode } from "./mount-s3-process.ts";

export const long = { timeout: 240_000, interval: 100 };

/** Lists, reads and writes without a pause, and notes what worked last; a write counts when its file was closed. */
export const busy = [
  "sh",
  "-c",
  `mkdir -p /tmp/seen; n=0
   while true; do
     n=$((n + 1))
     ls /data > /dev/null 2>&1 && echo $n > /tmp/seen/list
     cat /data/before 2>/dev/null | cmp -s - /tmp/before && echo $n > /tmp/seen/read
     sh -c "echo $n > /data/write-$n" 2>/dev/null && echo $n >> /tmp/seen/write
     sleep 0.05
   done`,
];

/** The counters of the three loops; 0 for one that has not done anything yet. */
async function progressOf(cluster: Cluster, pod: PodRef): Promise<readonly number[]> {
  const text = await cluster.exec(pod, 'for loop in list read write; do echo "0$(tail -n1 /tmp/seen/$loop)"; done');
  return text.trim().split("\n").map(Number);
}

/** Waits until all loops have done something that they had not done yet. */
export async function untilWorking(cluster: Cluster, pod: PodRef): Promise<void> {
  const before = await progressOf(cluster, pod);
  const isFurther = async () => (await progressOf(cluster, pod)).map((count, loop) => count > (before[loop] ?? 0));
  await expect.poll(isFurther, long).toEqual(before.map(() => true));
}

/** Of the only Mountpoint Pod of a volume; ends when the process has ended. */
export async function killMountS3(cluster: Cluster, node: string, claim: string): Promise<void> {
  const { pid } = await mountS3Of(cluster, node, claim);
  await onNode(cluster, node, "sh", "-c", 'kill -KILL "$1" && while [ -d "/proc/$1/fd" ]; do :; done', "kill", pid);
}

/** What a restart would change. */
export async function identityOf(cluster: Cluster, { namespace, name }: PodRef): Promise<unknown> {
  const pod = await cluster.get<Pod>("pod", name, "-n", namespace);
  const { initContainerStatuses = [], containerStatuses = [] } = pod?.status ?? {};
  const containers = [...initContainerStatuses, ...containerStatuses].map((status) => ({
    name: status.name,
    restartCount: status.restartCount,
    id: (status as { containerID?: string }).containerID,
  }));
  return { uid: pod?.metadata.uid, containers };
}

/** What lies on the container's own disk where the volume is mounted: nothing, or writes that missed the bucket. */
export async function belowTheMount(cluster: Cluster, node: string, pod: PodRef): Promise<string> {
  const found = await cluster.get<Pod>("pod", pod.name, "-n", pod.namespace);
  const [status] = found?.status?.containerStatuses ?? [];
  const id = (status as { containerID?: string } | undefined)?.containerID?.replace("containerd://", "") ?? "none";
  return onNode(cluster, node, "ls", "-A", `/run/containerd/io.containerd.runtime.v2.task/k8s.io/${id}/rootfs/data`);
}

export async function eventsIn(cluster: Cluster, namespace: string): Promise<string> {
  const events = await cluster.list<ReportedEvent>("events", "-n", namespace);
  const lines = events.map(({ involvedObject, reason, message }) => `${involvedObject.name} ${reason}: ${message}\n`);
  return lines.join("");
}

/** How many mounts of these Pods the node sees, and how many mounts a process in each of them. */
export async function tableLengths(
  cluster: Cluster,
  node: string,
  pods: readonly PodRef[],
): Promise<readonly number[]> {
  const uids = await Promise.all(pods.map(async ({ namespace, name }) => uidOf(cluster, namespace, name)));
  const own = await onNode(cluster, node, "sh", "-c", `grep -cE '/pods/(${uids.join("|")})/' /proc/1/mountinfo`);
  const inside = await Promise.all(pods.map((pod) => cluster.exec(pod, "wc -l < /proc/1/mountinfo")));
  return [own, ...inside].map(Number);
}

async function uidOf(cluster: Cluster, namespace: string, name: string): Promise<string> {
  return (await cluster.get<Pod>("pod", name, "-n", namespace))?.metadata.uid ?? "none";
}
