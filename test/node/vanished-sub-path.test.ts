/** Pods whose subPath is a directory of the bucket that is deleted while they run. */
import { DeleteObjectCommand, PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { openCluster, type PodRef, podManifest, type Sandbox } from "../support/cluster.ts";
import { mountpointPodsOf, mountsNaming, podOf } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };

it.for<[string, (sandbox: Sandbox, other: PodRef) => Promise<unknown>]>([
  ["the bucket", ({ bucket: Bucket }) => cluster.s3.send(new DeleteObjectCommand({ Bucket, Key: "logs/a" }))],
  ["another Pod", (_sandbox, other) => cluster.exec(other, "rm /data/logs/a")],
])("LC-25 a Pod whose subPath was deleted from %s ends, and a running one keeps its mount", async ([, deleteIt]) => {
  await using sandbox = await cluster.sandbox();
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "logs/a", Body: "a\n" }));
  const claim = await sandbox.volume({ mountOptions: ["allow-delete"] });
  const other = await sandbox.pod("other", { node, claim });
  const [ends, runs] = [await withSubPath(sandbox, "ends", claim), await withSubPath(sandbox, "runs", claim)];
  await Promise.all([other, ends, runs].map((pod) => cluster.untilReady(pod)));
  expect(await cluster.exec(ends, "cat /data/a")).toBe("a\n");

  await deleteIt(sandbox, other);
  const [bindOfEnding, bindOfRunning] = [await bindOf(ends), await bindOf(runs)];
  // The kernel learns of it when somebody looks the directory up.
  const looked = async () => {
    await cluster.exec(other, "ls /data/logs 2>&1; true");
    return await bindOfEnding();
  };
  await expect.poll(looked, long).toContain("//deleted");
  await cluster.deletePod(ends);

  expect(await bindOfEnding()).toBe("");
  expect(await bindOfRunning()).toContain("//deleted");
  const mountpointPods = await mountpointPodsOf(cluster, claim);
  await cluster.deletePod(runs);
  await cluster.deletePod(other);
  expect(await bindOfRunning()).toBe("");
  for (const name of mountpointPods) {
    await expect.poll(() => podOf(cluster, { namespace: "mount-s3", name }), long).toBeUndefined();
  }
});

/** With a grace period the Pod is there until kubelet has cleaned up after it. */
async function withSubPath({ name: namespace }: Sandbox, name: string, claim: string): Promise<PodRef> {
  const pod = { namespace, name };
  const manifest = podManifest(pod, { node, claim, terminationGracePeriodSeconds: 1 }) as {
    spec: { containers: { volumeMounts: object[] }[] };
  };
  for (const container of manifest.spec.containers) {
    for (const mount of container.volumeMounts) Object.assign(mount, { subPath: "logs" });
  }
  await cluster.apply(manifest);
  return pod;
}

/** The line of the node's mount table that shows what kubelet has bound for the subPath of a Pod; empty without one. */
async function bindOf(pod: PodRef): Promise<() => Promise<string>> {
  const uid = (await podOf(cluster, pod))?.metadata.uid;
  return () => mountsNaming(cluster, node, `/pods/${uid}/volume-subpaths/`);
}

it("LC-25 a Pod that deletes the directory of its subPath itself, and is the only one to use the volume, ends", async () => {
  await using sandbox = await cluster.sandbox();
  await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: "logs/a", Body: "a\n" }));
  const claim = await sandbox.volume({ mountOptions: ["allow-delete"] });
  const pod = await withSubPath(sandbox, "alone", claim);
  await cluster.untilReady(pod);
  const bind = await bindOf(pod);
  await cluster.exec(pod, "rm /data/a");
  await cluster.deletePod(pod);
  expect(await bind()).toBe("");
});
