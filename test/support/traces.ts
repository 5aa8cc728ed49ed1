/** What a volume leaves on a node and in the cluster, for tests that want to see it come and go. */
import { GetObjectCommand } from "@aws-sdk/client-s3";
import type { PodUid, PvName } from "../../src/core/names.ts";
import type { CoreEvent, Pod } from "../../src/kube/kinds.ts";
import { targetPath } from "../../src/node/domain/target-path.ts";
import type { Cluster, PodRef, Sandbox } from "./cluster.ts";
import { attachmentsOf, onNode } from "./mount-s3-process.ts";

export const kubeletDir = "/var/lib/kubelet";
export const sourcesDir = `${kubeletDir}/plugins/s3.csi.scality.com/mnt`;

export async function podOf(cluster: Cluster, { namespace, name }: PodRef): Promise<Pod | undefined> {
  return await cluster.get<Pod>("pod", name, "-n", namespace);
}

export async function targetOf(cluster: Cluster, pod: PodRef, claim: string): Promise<string> {
  const workload = ((await podOf(cluster, pod))?.metadata.uid ?? "") as PodUid;
  return targetPath(kubeletDir, { workload, persistentVolume: claim as PvName });
}

/** Mountpoint Pods that the attachments of the volume name, with the UIDs of the workloads of each. */
export async function servedBy(cluster: Cluster, claim: string): Promise<Readonly<Record<string, readonly string[]>>> {
  const lists = (await attachmentsOf(cluster, claim)).flatMap(({ spec }) =>
    Object.entries(spec.mountpointS3PodAttachments),
  );
  return Object.fromEntries(lists.map(([name, served]) => [name, served.map((one) => one.workloadPodUID)]));
}

export async function mountpointPodsOf(cluster: Cluster, claim: string): Promise<readonly string[]> {
  return Object.keys(await servedBy(cluster, claim));
}

/** Lines of the node's mount table. */
export async function mountsNaming(cluster: Cluster, node: string, text: string): Promise<string> {
  return await onNode(cluster, node, "sh", "-c", 'grep -F -- "$1" /proc/1/mountinfo || true', "mounts", text);
}

/** What lies on the node's own disk below everything that is mounted at a path; empty as well if there is no such path. */
export async function onDiskBelow(cluster: Cluster, node: string, path: string): Promise<string> {
  const look = 'while umount -l "$1" 2>/dev/null; do :; done; ls -A "$1" 2>/dev/null || true';
  return await onNode(cluster, node, "unshare", "--mount", "sh", "-c", look, "look", path);
}

/** Texts of all events in a namespace. */
export async function messagesIn(cluster: Cluster, namespace: string): Promise<string> {
  const events = await cluster.list<CoreEvent>("events", "-n", namespace);
  return events.map(({ message }) => `${message}\n`).join("");
}

/** Texts of the events about a Pod. */
export async function eventsOf(cluster: Cluster, { namespace, name }: PodRef): Promise<string> {
  const events = await cluster.list<CoreEvent>(
    "events",
    "-n",
    namespace,
    "--field-selector",
    `involvedObject.name=${name}`,
  );
  return events.map(({ message }) => `${message}\n`).join("");
}

/** undefined if there is no such object. */
export async function objectText({ cluster, bucket }: Sandbox, key: string): Promise<string | undefined> {
  try {
    const { Body } = await cluster.s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    return await Body?.transformToString();
  } catch (error) {
    if (error instanceof Error && error.name === "NoSuchKey") return undefined;
    throw error;
  }
}
