/** Mountpoint Pods that wait for a volume, on real nodes. */
import { setTimeout as pause } from "node:timers/promises";
import type { Pod } from "../../src/kube/kinds.ts";
import type { Cluster } from "./cluster.ts";
import { onNode } from "./mount-s3-process.ts";

export interface WarmPod {
  readonly name: string;
  readonly uid: string;
}

/** Those that run on a node and are not being deleted. */
export async function warmOn(cluster: Cluster, node: string): Promise<readonly WarmPod[]> {
  const all = await cluster.list<Pod>("pods", "-n", "mount-s3", "-l", "s3.csi.scality.com/warm=waiting");
  const here = all.filter(({ metadata, spec, status }) => {
    const isRunning = status?.phase === "Running" && metadata.deletionTimestamp === undefined;
    return isRunning && spec.nodeName === node;
  });
  return here.map(({ metadata: { name, uid } }) => ({ name, uid }));
}

/** Until one runs that is none of the others. Not with vi.waitFor: benchmarks wait for it, too. */
export async function untilWarmOn(cluster: Cluster, node: string, ...others: readonly string[]): Promise<WarmPod> {
  for (const limit = AbortSignal.timeout(240_000); ; limit.throwIfAborted()) {
    const pod = (await warmOn(cluster, node)).find(({ name }) => !others.includes(name));
    if (pod !== undefined) return pod;
    await pause(200, undefined, { signal: limit });
  }
}

/** cgroup v1, bytes: what `kubectl top` calls the memory of the containers of a Pod, its pause container included. */
export async function workingSetOf(cluster: Cluster, node: string, { uid }: WarmPod): Promise<number> {
  const script = [
    'directory=$(find /sys/fs/cgroup/memory -type d -name "*pod$1" | head -n1)',
    "cat $directory/memory.usage_in_bytes",
    'sed -n "s/^total_inactive_file //p" $directory/memory.stat',
  ].join("\n");
  const [usage = Number.NaN, inactive = 0] = (await onNode(cluster, node, "sh", "-c", script, "of", uid))
    .trim()
    .split("\n")
    .map(Number);
  return usage - inactive;
}
