/** How long many claims take, created at once, until every one of them is Bound; and what that costs the store and the API server. */
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { kinds, type PersistentVolumeClaim } from "../../src/kube/kinds.ts";
import { keyOf, Store } from "../../src/kube/watch/store.ts";
import { watch } from "../../src/kube/watch/watch.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { openCluster } from "../../test/support/cluster.ts";
import { percentile, table } from "../table.ts";

const count = Number(process.argv[2] ?? 200);
const cluster = openCluster();
const stop = new AbortController();
const call = { signal: stop.signal, log: silentLogger };
using client = new KubeClient(kubeconfigCredentials(cluster.lab.layout.kubeconfig), { userAgent: "bench" });
await using sandbox = await cluster.sandbox();
const className = `${sandbox.name}-class`;
await cluster.apply({
  apiVersion: "storage.k8s.io/v1",
  kind: "StorageClass",
  metadata: { name: className },
  provisioner: "s3.csi.scality.com",
});
const claims = new Store<PersistentVolumeClaim>({});
const what = {
  kind: kinds.persistentVolumeClaims,
  namespace: sandbox.name,
  trim: (each: PersistentVolumeClaim) => each,
};
const watching = watch(call, client, what, claims);
await claims.synced(call);

const before = { s3: s3Requests(), api: await writes() };
const started = performance.now();
const times = await Promise.all(Array.from({ length: count }, (_, index) => bound(`claim-${index}`)));
const after = { s3: s3Requests(), api: await writes() };
const deleting = performance.now();
await cluster.kubectl("delete", "pvc", "--all", "-n", sandbox.name, "--wait=true");
await untilVolumesAreGone();
const gone = performance.now();
stop.abort();
await watching.catch(() => undefined);
await cluster.kubectl("delete", "storageclass", className);

process.stdout.write(`${count} claims at once\n`);
process.stdout.write(
  table([
    { what: "creation → Bound, median", figure: `${seconds(percentile(times, 50))} s` },
    { what: "creation → Bound, p95", figure: `${seconds(percentile(times, 95))} s` },
    { what: "all Bound after", figure: `${seconds(Math.max(...times))} s` },
    { what: "requests to the store, per claim", figure: ((after.s3 - before.s3) / count).toFixed(1) },
    { what: "writes to the API server by everybody, per claim", figure: ((after.api - before.api) / count).toFixed(1) },
    { what: "claims deleted → volumes and buckets gone, all", figure: `${seconds(gone - deleting)} s` },
  ]),
);

async function bound(name: string): Promise<number> {
  const ref = { namespace: sandbox.name, name };
  const spec = {
    storageClassName: className,
    accessModes: ["ReadWriteMany"],
    resources: { requests: { storage: "1Gi" } },
  };
  const claim = { metadata: ref, spec } as { metadata: typeof ref };
  await client.create(call, kinds.persistentVolumeClaims, claim);
  await claims.waitFor(call, { key: keyOf(ref) }, ([seen]) => (seen?.status?.phase === "Bound" ? true : undefined));
  return performance.now() - started;
}

async function untilVolumesAreGone(): Promise<void> {
  for (;;) {
    const volumes = await client.list(call, kinds.persistentVolumes);
    if (!volumes.some(({ spec }) => spec.claimRef?.namespace === sandbox.name)) return;
  }
}

/** The server logs one line for each. */
function s3Requests(): number {
  return cluster.lab
    .component("versitygw")
    .log()
    .split("\n")
    .filter((line) => line.includes("csi-s3-")).length;
}

/** Creations, changes and deletions of what provisioning touches, as the API server counts them. */
async function writes(): Promise<number> {
  const metrics = await cluster.kubectl("get", "--raw", "/metrics");
  const counted =
    /^apiserver_request_total\{.*resource="(?:persistentvolume|event)[a-z]*".*verb="(?:POST|PUT|PATCH|DELETE)".*\} (\d+)$/gm;
  return [...metrics.matchAll(counted)].reduce((sum, [, value]) => sum + Number(value), 0);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}
