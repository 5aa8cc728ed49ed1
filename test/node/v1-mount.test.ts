/** Workloads that the driver 1.x mounted, when this one takes over (contract 1.12, 2.11). */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { rootAccount } from "../../lab/s3.ts";
import { NodeService } from "../../src/csi/gen/csi.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, type PodRef } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { csiClient } from "../support/csi-client.ts";
import { attachmentsOf, csiSocketOf, onNode } from "../support/mount-s3-process.ts";
import { withoutPlugins } from "../support/node-plugin.ts";
import { publishRequestFor } from "../support/publish-request.ts";
import { eventsOf } from "../support/traces.ts";
import { credentialsOf, mountAs1x, type ProfileFiles, writeOnNode } from "../support/v1-mount.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 200 };
/** Far below the time that a publish waits for an attachment, which will never come here. */
const atOnce = { deadlineMs: 20_000 };
const pluginDir = "/var/lib/kubelet/plugins/s3.csi.scality.com";

it("LC-12 a live mount of 1.x stays, its keys are renewed and removed with it; ordinary mounts leave no key on the disk", async () => {
  await using sandbox = await cluster.sandbox();
  const [claim, ordinary] = [await sandbox.volume(), await sandbox.volume()];
  const pod = { namespace: sandbox.name, name: "app" };
  const leftover = `${randomUUID()}-photos-s3-csi-credentials`;
  let target: string;
  let mounted: string;
  let workload: string;
  let files: ProfileFiles;
  {
    await using _controller = await controllerAway(cluster);
    await using plugins = new AsyncDisposableStack();
    // kubelet cannot publish anything, and tries again soon.
    plugins.use(await withoutPlugins(cluster));
    await sandbox.pod(pod.name, { node, claim });
    workload = await uidOf(pod);
    ({ targetPath: target } = publishRequestFor({ claim, bucket: sandbox.bucket, workload }));
    await writeOnNode(cluster, node, `${pluginDir}/${leftover}`, credentialsOf("photos"));
    files = await mountAs1x(cluster, { node, bucket: sandbox.bucket, workload, volumeId: claim, target });
    mounted = await mountsOf(target);
    await plugins.disposeAsync();
    await cluster.untilReady(pod);
  }
  expect(mounted).toContain(" - fuse mountpoint-s3 ");
  await cluster.exec(pod, "echo kept > /data/a.txt");
  await expect.poll(() => namesWithKeys(), long).toBe(`${files.credentials}\n`);

  // The controller is back, too: what it does for this workload means that it has seen the other one before.
  const other = await sandbox.pod("ordinary", { node, claim: ordinary });
  await cluster.untilReady(other);
  expect(await attachmentsOf(cluster, claim)).toEqual([]);

  const expected = await read(files.credentials);
  expect(expected).toBe(credentialsOf(`${workload}-${claim}-s3-csi`));
  await writeOnNode(cluster, node, files.credentials, "of yesterday");
  using kubelet = csiClient(NodeService, csiSocketOf(cluster, node));
  const { bucket } = sandbox;
  await kubelet.nodePublishVolume(publishRequestFor({ claim, bucket, workload }), atOnce);
  await kubelet.nodePublishVolume(publishRequestFor({ claim: ordinary, bucket, workload: await uidOf(other) }), atOnce);
  expect(await read(files.credentials)).toBe(expected);
  expect(await namesWithKeys()).toBe(`${files.credentials}\n`);
  expect(await mountsOf(target)).toBe(mounted);
  expect(await cluster.exec(pod, "cat /data/a.txt")).toBe("kept\n");
  expect(await eventsOf(cluster, pod)).not.toContain("Could not mount");

  await cluster.deletePod(pod);
  await expect.poll(() => mountsOf(target), long).toBe("");
  await expect.poll(() => onNode(cluster, node, "ls", pluginDir), long).not.toContain("s3-csi-c");
});

function read(file: string): Promise<string> {
  return onNode(cluster, node, "cat", file);
}

/** Files of the plugin's directory on the host that hold the secret key. Sources are other file systems. */
function namesWithKeys(): Promise<string> {
  const script = 'find "$1" -xdev -type f -exec grep -lF "$2" {} +; true';
  return onNode(cluster, node, "sh", "-c", script, "keys", pluginDir, rootAccount.secretAccessKey);
}

function mountsOf(target: string): Promise<string> {
  return onNode(cluster, node, "sh", "-c", 'grep -F " $1 " /proc/1/mountinfo || true', "mounts", target);
}

async function uidOf({ namespace, name }: PodRef): Promise<string> {
  return (await cluster.get<Pod>("pod", name, "-n", namespace))?.metadata.uid ?? "";
}
