/** The chart's flow control, as a real API server sorts requests by it. */
import { request } from "node:https";
import { afterAll, beforeAll, expect, it } from "vitest";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { releaseNamespace, render } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { long } from "../support/stage.ts";

const cluster = openCluster();
const api = kubeconfigCredentials(cluster.lab.layout.kubeconfig);
const objects = render({ "flowControl.enabled": "true" }).filter(({ apiVersion }) =>
  apiVersion.startsWith("flowcontrol"),
);

beforeAll(async () => {
  await cluster.apply(...objects);
});

afterAll(async () => {
  await cluster.kubectl("delete", ...objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
});

const pods = "/api/v1/pods?limit=1";
const lease = `/apis/coordination.k8s.io/v1/namespaces/${releaseNamespace}/leases/s3-pod-reconciler`;
const otherLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/s3-pod-reconciler";

it.for([
  { who: "s3-csi-driver-controller-sa", path: pods, schema: "s3-csi-driver" },
  { who: "s3-csi-driver-sa", path: pods, schema: "s3-csi-driver" },
  { who: "s3-csi-driver-controller-sa", path: lease, schema: "s3-csi-driver-leader-election" },
  { who: "s3-csi-driver-controller-sa", path: otherLease, schema: "s3-csi-driver" },
  { who: "another", path: pods, schema: "service-accounts" },
])("SC-6 a request of $who for $path is of the FlowSchema $schema", async ({ who, path, schema }) => {
  const uid = await cluster.kubectl("get", "flowschema", schema, "-o", "jsonpath={.metadata.uid}");
  // The API server takes a new FlowSchema up in its own time.
  await expect.poll(() => schemaOf(`system:serviceaccount:${releaseNamespace}:${who}`, path), long).toBe(uid);
});

/** The UID of the FlowSchema that the API server names in its answer, also in one that refuses the request. */
async function schemaOf(user: string, path: string): Promise<unknown> {
  const { ca, cert, key } = api.tls();
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const headers = { "impersonate-user": user, "impersonate-group": "system:serviceaccounts" };
  const asked = request(new URL(path, api.server), { ca, cert, key: key?.reveal(), headers }, (answer) => {
    answer.resume();
    resolve(answer.headers["x-kubernetes-pf-flowschema-uid"]);
  });
  asked.on("error", reject);
  asked.end();
  return await promise;
}
