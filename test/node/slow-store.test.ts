/** An object store that is slower than healing is patient. */
import { PutObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import type { Pod } from "../../src/kube/kinds.ts";
import { openCluster, podManifest } from "../support/cluster.ts";
import { killMountS3, long } from "../support/healing.ts";
import { pluginPod } from "../support/node-plugin.ts";
import { S3Recorder, type S3Request } from "../support/s3-recorder.ts";
import { eventsOf } from "../support/traces.ts";

const cluster = openCluster();
const node = "worker-1";
const subPaths = ["logs", "photos"] as const;

it("SE-9 subPaths that the store does not find in time neither end the node plugin nor keep it from healing later", async () => {
  await using sandbox = await cluster.sandbox();
  for (const name of subPaths) {
    await cluster.s3.send(new PutObjectCommand({ Bucket: sandbox.bucket, Key: `${name}/a`, Body: `${name}\n` }));
  }
  const claim = await sandbox.volume();
  const pod = { namespace: sandbox.name, name: "app" };
  const manifest = podManifest(pod, { node, claim }) as { spec: { containers: { volumeMounts: object[] }[] } };
  for (const container of manifest.spec.containers) {
    container.volumeMounts = subPaths.map((subPath) => ({ name: "data", mountPath: `/${subPath}`, subPath }));
  }
  await cluster.apply(manifest);
  await cluster.untilReady(pod);
  const before = await restarts();
  await using recorder = await S3Recorder.open(cluster);
  const looksUp = ({ path }: S3Request) => path.startsWith(`/${sandbox.bucket}`) && /[/=]logs(%2F|$)/.test(path);
  {
    using _slow = recorder.holdBack(looksUp);
    await killMountS3(cluster, node, claim);
    // An attempt was given up while the store kept silent.
    await expect.poll(() => eventsOf(cluster, pod), long).toContain("mount-s3 ended, and files give ENOTCONN");
    expect(recorder.requests.filter(looksUp)).not.toEqual([]);
  }
  for (const name of subPaths) {
    await expect.poll(() => cluster.exec(pod, `cat /${name}/a 2>&1; true`), long).toBe(`${name}\n`);
  }
  expect(await restarts()).toEqual(before);
});

/** Name of the node plugin's Pod, and how often its container was started again. */
async function restarts(): Promise<unknown> {
  const { namespace, name } = await pluginPod(cluster, node);
  const plugin = await cluster.get<Pod>("pod", name, "-n", namespace);
  return [name, plugin?.status?.containerStatuses?.map(({ restartCount }) => restartCount)];
}
