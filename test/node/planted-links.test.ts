/** A Mountpoint Pod that turned against its node: links in its volume, which root must not follow. */
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { NodeService } from "../../src/csi/gen/csi.ts";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { controllerAway } from "../support/controller-away.ts";
import { csiClient } from "../support/csi-client.ts";
import { csiSocketOf, mountS3Of, onNode } from "../support/mount-s3-process.ts";
import { publishRequestOf } from "../support/publish-request.ts";
import { messagesIn } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
/** kubelet's pauses grow, both between its calls and before it starts a container again. */
const long = { timeout: 560_000, interval: 500 };

it("SE-3 mount.err as a link to a file of the host is refused, and what that file says is in no event", async () => {
  await using sandbox = await cluster.sandbox();
  await using secrets = await hostDirectory(sandbox, "shadow", "the host's own secret");
  const claim = await sandbox.volume({ attributes: { bucketName: `${sandbox.bucket}-missing` } });
  await sandbox.pod("app", { node, claim });
  await expect.poll(() => messagesIn(cluster, sandbox.name), long).toContain("Could not mount");
  const { name, uid } = await mountS3Of(cluster, node, claim);
  // One of 2.x that fails again and again would be replaced, and the planted link with it.
  await using _controller = await controllerAway(cluster);
  await using _planter = await planting(secrets.path, commOf(uid));
  // Only mounters of 2.x tell by this file why mount-s3 failed.
  const label = "s3.csi.scality.com/mounted-by-csi-driver-version=2.1.1";
  await cluster.kubectl("label", "pod", name, "-n", "mount-s3", "--overwrite", label);

  await expect
    .poll(() => messagesIn(cluster, sandbox.name), long)
    .toContain("mount.err in the Mountpoint Pod's volume is not what");
  expect(await messagesIn(cluster, sandbox.name)).not.toContain("the host's own secret");
});

it("SE-3 credentials as a link to a directory of the host is refused, and nothing is written there", async () => {
  await using sandbox = await cluster.sandbox();
  await using elsewhere = await hostDirectory(sandbox, "file", "as it was");
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const { uid } = await mountS3Of(cluster, node, claim);
  const shape = () => script('ls -laRn "$1"', elsewhere.path);
  const before = await shape();
  await script('mv "$2/credentials" "$2/old" && ln -s "$1" "$2/credentials"', elsewhere.path, commOf(uid));

  using driver = csiClient(NodeService, csiSocketOf(cluster, node));
  const request = await publishRequestOf(sandbox, pod, claim);
  await expect(driver.nodePublishVolume(request)).rejects.toMatchObject({
    // Not one that means "nothing is left": the target is mounted, and kubelet must remember it.
    code: status.UNAVAILABLE,
    details: expect.stringContaining("credentials in the Mountpoint Pod's volume is not what it should be"),
  });
  expect(await shape()).toBe(before);
  // The mount itself is as good as before.
  expect(await cluster.exec(pod, "ls /data")).toBe("");
});

interface HostDirectory extends AsyncDisposable {
  readonly path: string;
}

/** Where the node plugin could reach it. */
async function hostDirectory({ name }: Sandbox, file: string, content: string): Promise<HostDirectory> {
  const path = `/var/lib/kubelet/${name}`;
  await script('mkdir -m 700 "$1" && printf %s "$3" > "$1/$2"', path, file, content);
  return { path, [Symbol.asyncDispose]: async () => void (await script('rm -r "$1"', path)) };
}

/** Again and again until the end of the scope: the node plugin removes what it finds before each attempt. */
async function planting(secrets: string, comm: string): Promise<AsyncDisposable> {
  const loop = '(while :; do ln -sfn "$1/shadow" "$2/mount.err"; sleep 0.05; done) > /dev/null 2>&1 & echo $!';
  const pid = await script(loop, secrets, comm);
  return { [Symbol.asyncDispose]: async () => void (await script('kill "$1"', pid.trim())) };
}

function commOf(uid: string): string {
  return `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/comm`;
}

function script(text: string, ...args: readonly string[]): Promise<string> {
  return onNode(cluster, node, "sh", "-c", text, "sh", ...args);
}
