/** The mount-s3 behind a volume, as a process on its node that a test can stop or kill. */
import type { MountpointS3PodAttachment, Pod } from "../../src/kube/kinds.ts";
import type { Cluster } from "./cluster.ts";

export interface MountS3 {
  /** Name and UID of its Mountpoint Pod. */
  readonly name: string;
  readonly uid: string;
  /** As the node sees it. */
  readonly pid: string;
}

export async function attachmentsOf(cluster: Cluster, claim: string): Promise<readonly MountpointS3PodAttachment[]> {
  return cluster.list("s3pa", "--field-selector", `spec.persistentVolumeName=${claim}`);
}

/** The only one of the volume, which must serve already. */
export async function mountS3Of(cluster: Cluster, node: string, claim: string): Promise<MountS3> {
  const [attachment] = await attachmentsOf(cluster, claim);
  const [name = ""] = Object.keys(attachment?.spec.mountpointS3PodAttachments ?? {});
  const uid = (await cluster.get<Pod>("pod", name, "-n", "mount-s3"))?.metadata.uid ?? "";
  return { name, uid, pid: await pidOf(cluster, node, uid) };
}

/** Empty if none runs. Its container's cgroup is named after the Pod. */
export async function pidOf(cluster: Cluster, node: string, uid: string): Promise<string> {
  const script = [
    "for p in /proc/[0-9]*; do",
    '  [ "$(cat $p/comm 2>/dev/null)" = mount-s3 ] && grep -q "$1" $p/cgroup && echo ${p#/proc/}',
    "done; true",
  ].join("\n");
  return (await onNode(cluster, node, "sh", "-c", script, "pid-of", uid)).trim();
}

/** Hangs until the end of the scope: whoever asks it waits. */
export async function stopped(cluster: Cluster, node: string, { pid }: MountS3): Promise<AsyncDisposable> {
  await onNode(cluster, node, "kill", "-STOP", pid);
  return { [Symbol.asyncDispose]: async () => void (await onNode(cluster, node, "kill", "-CONT", pid)) };
}

export function onNode(cluster: Cluster, node: string, ...argv: readonly string[]): Promise<string> {
  return cluster.lab.node(node).exec(argv, { signal: AbortSignal.timeout(60_000) });
}

/** Where the node plugin listens, from outside of the node. */
export function csiSocketOf(cluster: Cluster, node: string): string {
  const { init, address } = cluster.lab.node(node);
  return `unix:/proc/${init.pid}/root${address.kubeletRoot}/plugins/s3.csi.scality.com/csi.sock`;
}
