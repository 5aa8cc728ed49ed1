/** Object stores whose certificates come from an authority of the installation, from one that the system trusts, or from neither. */
import { GetObjectCommand } from "@aws-sdk/client-s3";
import { expect, it } from "vitest";
import { Claims, patient } from "../support/claims.ts";
import { openCluster, type PodRef } from "../support/cluster.ts";
import { installedWith } from "../support/installed-with.ts";
import { rootsImage } from "../support/roots-image.ts";
import { connectProxy, type TlsEndpoint, tlsEndpoint } from "../support/tls-endpoint.ts";
import { eventsOf } from "../support/traces.ts";

const cluster = openCluster();
const host = "s3.of-many-authorities.test";

it("PR-8 a CA of the installation adds to the system's: controller and mount-s3 trust both kinds of stores, and no third", async () => {
  await using ours = await storeBehindProxy();
  await using systems = await storeBehindProxy();
  await using strangers = await storeBehindProxy();
  await using image = await rootsImage(cluster, systems.authority);
  await using _installed = await installedWith(cluster, [
    `s3.endpointUrl=https://${host}`,
    "tls.caCertConfigMap=test-ca",
    `tls.caCertData=${ours.authority}`,
    `tls.initImage.repository=${image.repository}`,
    `tls.initImage.tag=${image.tag}`,
    `mountpointPod.proxy.httpsProxy=${ours.proxy}`,
  ]);
  await using sandbox = await cluster.sandbox();
  await using claims = await Claims.ofClass(sandbox, { parameters: { deletePolicy: "purge" } });

  const made = await claims.volume("made");
  await expectFiles(await sandbox.pod("of-ours", { claim: "made" }), made.spec.csi.volumeHandle);
  const through = (proxy: string) => sandbox.volume({ attributes: { "mountpointEnv.HTTPS_PROXY": proxy } });
  await expectFiles(await sandbox.pod("of-systems", { claim: await through(systems.proxy) }), sandbox.bucket);

  const pod = await sandbox.pod("of-strangers", { claim: await through(strangers.proxy) });
  // mount-s3 goes on trying for minutes; the owner of the Pod reads why at once.
  await expect.poll(() => eventsOf(cluster, pod), patient).toContain("Certificate is untrusted");
  expect(await eventsOf(cluster, pod)).toMatch(
    /Could not mount "[^"]+" at "[^"]+": mount-s3 does not reach the object store: .*tls\.caCertConfigMap.*kubectl logs -n mount-s3 mp-/,
  );
  await cluster.deletePod(pod);
  expect(strangers.seen.requests).toBe(0);
  for (const { seen } of [ours, systems]) expect(seen.requests).toBeGreaterThan(0);
});

async function expectFiles(pod: PodRef, bucket: string): Promise<void> {
  await cluster.untilReady(pod);
  await cluster.exec(pod, "echo hello > /data/file");
  const { Body } = await cluster.s3.send(new GetObjectCommand({ Bucket: bucket, Key: "file" }));
  expect(await Body?.transformToString()).toBe("hello\n");
  await cluster.deletePod(pod);
}

/** The name leads to whichever store the proxy stands for. */
async function storeBehindProxy(): Promise<Omit<TlsEndpoint, "port"> & { readonly proxy: string }> {
  const endpoint = await tlsEndpoint(host);
  const proxy = await connectProxy(endpoint.port);
  return {
    authority: endpoint.authority,
    seen: endpoint.seen,
    proxy: proxy.url,
    [Symbol.asyncDispose]: async () => {
      await proxy[Symbol.asyncDispose]();
      await endpoint[Symbol.asyncDispose]();
    },
  };
}
