/** What a node plugin asks of the API server and of S3, by their own records. */
import { expect, it, vi } from "vitest";
import { type AuditedRequest, auditedRequests, userOf } from "../../lab/audit.ts";
import { NodeService } from "../../src/csi/gen/csi.ts";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { csiClient } from "../support/csi-client.ts";
import { attachmentsOf, csiSocketOf } from "../support/mount-s3-process.ts";
import { publishRequestOf } from "../support/publish-request.ts";
import { scaled } from "../support/scale.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 500 };
/** 10 minutes of a node with 100 workloads, whose kubelet repeats each call every 60 to 90 seconds. */
const republishes = scaled("repeated publishes", 50, 1000);

it("SC-1 a node plugin that starts asks for the objects of its own node only", async () => {
  const before = new Set(requestsOf(node).map(({ auditID }) => auditID));
  await cluster.kubectl("rollout", "restart", "daemonset/s3-csi-node", "-n", "kube-system");
  await cluster.kubectl("rollout", "status", "daemonset/s3-csi-node", "-n", "kube-system", "--timeout=240s");
  const fresh = () => requestsOf(node).filter(({ auditID }) => !before.has(auditID));
  const collections = () => fresh().filter(({ objectRef }) => objectRef !== undefined && objectRef.name === undefined);
  const selectorsOf = (resource: string) =>
    new Set(
      collections()
        .filter((one) => one.objectRef?.resource === resource)
        .map(fieldSelectorOf),
    );

  await expect.poll(() => selectorsOf("pods"), long).toEqual(new Set([`spec.nodeName=${node}`]));
  await expect.poll(() => selectorsOf("mountpoints3podattachments"), long).toEqual(new Set([`spec.nodeName=${node}`]));
  expect(
    fresh()
      .filter((one) => one.objectRef?.resource === "pods")
      .map((one) => one.objectRef?.namespace),
  ).toEqual(expect.not.arrayContaining([undefined]));
  // Whatever else it asks for, it asks for by name.
  expect(collections().map(fieldSelectorOf)).toEqual(expect.not.arrayContaining([null]));
});

it("SC-3 a repeated publish asks neither the API server nor S3 for anything", async () => {
  await using sandbox = await cluster.sandbox();
  const claim = await sandbox.volume();
  const pod = await sandbox.pod("app", { node, claim });
  await cluster.untilReady(pod);
  const request = await publishRequestOf(sandbox, pod, claim);
  using driver = csiClient(NodeService, csiSocketOf(cluster, node));
  // kubelet repeats the call as well: while one of them runs, the other is ABORTED.
  const publish = () => vi.waitFor(() => driver.nodePublishVolume(request), { timeout: 30_000, interval: 5 });
  await publish();
  // The node's report of the new mount is a request of its own, and comes when it comes.
  const [attachment] = await attachmentsOf(cluster, claim);
  await cluster.kubectl("wait", "s3pa", `${attachment?.metadata.name}`, "--for=condition=Mounted", "--timeout=240s");

  const counts = () => ({ api: requestsOf(node).filter(isQuestion).length, s3: s3RequestsFor(sandbox) });
  const before = counts();
  for (let done = 0; done < republishes; done += 1) await publish();
  expect(counts()).toEqual(before);

  // Both records tell of this node: its own start is in the one, a look into the volume comes into the other.
  expect(before.api).toBeGreaterThan(0);
  await cluster.exec(pod, "ls /data");
  expect(s3RequestsFor(sandbox)).toBeGreaterThan(before.s3);
});

/** Watches are not: they are renewed every few minutes, whatever kubelet does. Nor are reports of how mounts fare. */
function isQuestion({ verb, objectRef }: AuditedRequest): boolean {
  return verb !== "watch" && objectRef?.subresource !== "status";
}

function s3RequestsFor({ bucket }: Sandbox): number {
  return cluster.lab.component("versitygw").log().split(`/${bucket}`).length - 1;
}

/** Of the node plugin of a node. */
function requestsOf(name: string): readonly AuditedRequest[] {
  const isFrom = ({ user }: AuditedRequest) =>
    user.username === userOf("s3-csi-driver-sa") &&
    (user.extra?.["authentication.kubernetes.io/node-name"]?.includes(name) ?? false);
  return auditedRequests(cluster.lab.layout).filter(isFrom);
}

function fieldSelectorOf({ requestURI }: AuditedRequest): string | null {
  return new URL(requestURI, "https://localhost").searchParams.get("fieldSelector");
}
