import { expect } from "vitest";
import type { ProcessId } from "../../lab/process-id.ts";
import type { Cluster } from "./cluster.ts";
import { processOf } from "./container-process.ts";
import { onNode } from "./mount-s3-process.ts";
import { kubeletDir, mountpointPodsOf, podOf } from "./traces.ts";

const long = { timeout: 240_000, interval: 200 };

/** The mounter of the volume's only Mountpoint Pod, once it listens. It becomes mount-s3 when the node plugin talks to it. */
export async function listeningMounter(cluster: Cluster, node: string, claim: string): Promise<ProcessId> {
  const socket = async () => {
    const [name = ""] = await mountpointPodsOf(cluster, claim);
    const uid = name && (await podOf(cluster, { namespace: "mount-s3", name }))?.metadata.uid;
    const path = `${kubeletDir}/pods/${uid}/volumes/kubernetes.io~empty-dir/comm/mount.sock`;
    return (await onNode(cluster, node, "sh", "-c", 'test -S "$1" && echo there || true', "look", path)).trim();
  };
  await expect.poll(socket, long).toBe("there");
  const [name = ""] = await mountpointPodsOf(cluster, claim);
  await cluster.untilReady({ namespace: "mount-s3", name });
  const mounter = await processOf(cluster, { namespace: "mount-s3", name });
  if (mounter === undefined) throw new Error(`the mounter of ${name} does not run`);
  return mounter;
}
