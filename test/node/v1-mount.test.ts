/** Workloads that the driver 1.x mounted, when this one takes over (contract 1.12, 2.11). */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { rootAccount } from "../../lab/s3.ts";
import { NodeService } from "../../src/csi/gen/csi.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import { startMountS3 } from "../support/bare-mount-s3.ts";
import { openCluster, type PodRef } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { csiClient } from "../support/csi-client.ts";
import { attachmentsOf, csiSocketOf, onNode } from "../support/mount-s3-process.ts";
import { publishRequestFor } from "../support/publish-request.ts";

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
  let files: Readonly<Record<"config" | "credentials", string>>;
  {
    await using _controller = await controllerAway(cluster);
    await using plugins = new AsyncDisposableStack();
    plugins.use(await nodePluginsAway());
    await sandbox.pod(pod.name, { node, claim });
    workload = await uidOf(pod);
    const profile = `${workload}-${claim}-s3-csi`;
    files = { config: `${pluginDir}/${profile}-config`, credentials: `${pluginDir}/${profile}-credentials` };
    ({ targetPath: target } = publishRequestFor({ claim, bucket: sandbox.bucket, workload }));
    await write(`${pluginDir}/${leftover}`, credentialsOf("photos"));
    await write(files.config, `[profile ${profile}]\n`);
    await write(files.credentials, credentialsOf(profile));
    await mountAs1x(sandbox.bucket, target, { profile, ...files });
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
  await write(files.credentials, "of yesterday");
  using kubelet = csiClient(NodeService, csiSocketOf(cluster, node));
  const { bucket } = sandbox;
  await kubelet.nodePublishVolume(publishRequestFor({ claim, bucket, workload }), atOnce);
  await kubelet.nodePublishVolume(publishRequestFor({ claim: ordinary, bucket, workload: await uidOf(other) }), atOnce);
  expect(await read(files.credentials)).toBe(expected);
  expect(await namesWithKeys()).toBe(`${files.credentials}\n`);
  expect(await mountsOf(target)).toBe(mounted);
  expect(await cluster.exec(pod, "cat /data/a.txt")).toBe("kept\n");
  expect(await messagesOf(pod)).not.toContain("Could not mount");

  await cluster.deletePod(pod);
  await expect.poll(() => mountsOf(target), long).toBe("");
  await expect.poll(() => onNode(cluster, node, "ls", pluginDir), long).not.toContain("s3-csi-c");
});

/** kubelet cannot publish anything, and tries again soon. */
async function nodePluginsAway(): Promise<AsyncDisposable> {
  await restrictNodePlugins("true");
  await untilGone("s3-csi-node");
  return {
    [Symbol.asyncDispose]: async () => {
      await restrictNodePlugins(null);
      await untilBack("daemonset/s3-csi-node");
    },
  };
}

/** To nodes with a label that none has; null takes the restriction away. */
async function restrictNodePlugins(value: string | null): Promise<void> {
  const patch = { spec: { template: { spec: { nodeSelector: { "test/nowhere": value } } } } };
  await cluster.kubectl("patch", "daemonset/s3-csi-node", "-n", "kube-system", "-p", JSON.stringify(patch));
}

async function untilGone(app: string): Promise<void> {
  const pods = ["pod", "-n", "kube-system", "-l", `app=${app}`];
  await cluster.kubectl("wait", "--for=delete", ...pods, "--timeout=240s");
}

async function untilBack(object: string): Promise<void> {
  await cluster.kubectl("rollout", "status", "-n", "kube-system", object, "--timeout=240s");
}

interface ProfileFiles {
  readonly profile: string;
  readonly config: string;
  readonly credentials: string;
}

/** As systemd on the host did it: mount-s3 itself mounts, straight on the target. */
function mountAs1x(bucket: string, target: string, { profile, config, credentials }: ProfileFiles): Promise<void> {
  const env = [`AWS_PROFILE=${profile}`, `AWS_CONFIG_FILE=${config}`, `AWS_SHARED_CREDENTIALS_FILE=${credentials}`];
  return startMountS3(cluster, { node, bucket, directory: target, env });
}

function credentialsOf(profile: string): string {
  const { accessKeyId, secretAccessKey } = rootAccount;
  return `[${profile}]\naws_access_key_id=${accessKeyId}\naws_secret_access_key=${secretAccessKey}\n`;
}

function write(file: string, content: string): Promise<string> {
  return onNode(cluster, node, "sh", "-c", 'printf %s "$2" > "$1"', "write", file, content);
}

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

function messagesOf({ namespace, name }: PodRef): Promise<string> {
  const all = ["get", "events", "-n", namespace, "--field-selector", `involvedObject.name=${name}`];
  return cluster.kubectl(...all, "-o", "jsonpath={range .items[*]}{.message}{'\\n'}{end}");
}
