/** The object store is reached through a proxy only: its name means something to the proxy, and to nobody else. */
import { GetObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { installedWith } from "../support/installed-with.ts";
import { connectProxy, tlsEndpoint } from "../support/tls-endpoint.ts";

const cluster = openCluster();
const node = "worker-1";
const host = "s3.only-the-proxy-knows.test";

it("MP-14 mount-s3 reaches the object store through the proxy of the volume, else through that of the driver", async () => {
  await using endpoint = await tlsEndpoint(host);
  await using ofDriver = await connectProxy(endpoint.port);
  await using ofVolume = await connectProxy(endpoint.port);
  await using _installed = await installedWith(cluster, [
    `s3.endpointUrl=https://${host}`,
    "tls.caCertConfigMap=test-ca",
    `tls.caCertData=${endpoint.authority}`,
    `mountpointPod.proxy.httpsProxy=${ofDriver.url}`,
  ]);
  {
    await using sandbox = await cluster.sandbox();
    await expectFiles(sandbox, await sandbox.volume());
  }
  expect(new Set(ofDriver.tunnels)).toEqual(new Set([`${host}:443`]));
  expect(ofVolume.tunnels).toEqual([]);

  const before = ofDriver.tunnels.length;
  {
    await using sandbox = await cluster.sandbox();
    const attributes = { "mountpointEnv.HTTPS_PROXY": ofVolume.url };
    await expectFiles(sandbox, await sandbox.volume({ attributes }));
  }
  expect(new Set(ofVolume.tunnels)).toEqual(new Set([`${host}:443`]));
  expect(ofDriver.tunnels).toHaveLength(before);
});

async function expectFiles(sandbox: Sandbox, claim: string): Promise<void> {
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo hello > /data/file");
  const { Body } = await cluster.s3.send(new GetObjectCommand({ Bucket: sandbox.bucket, Key: "file" }));
  expect(await Body?.transformToString()).toBe("hello\n");
}
