/** The chart's rights on a real API server: enough for what the programs do, and for nothing else. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { Cluster as NodeView } from "../../src/node/cluster/cluster.ts";
import { nodeConfigFrom } from "../../src/node/config.ts";
import { credentialsOfDriver } from "../../src/node/credentials/driver-credentials.ts";
import { deadline } from "../../src/runtime/call.ts";
import { jsonLogger } from "../../src/runtime/log.ts";
import { Progress } from "../../src/runtime/progress.ts";
import { releaseNamespace } from "../chart/rendered-chart.ts";
import { ChartAccess, type Where } from "../support/chart-access.ts";
import { openCluster } from "../support/cluster.ts";
import { ending } from "../support/ending.ts";
import { ReconcilerProcess } from "../support/reconciler-process.ts";
import { installAttachmentKind, isMarked, long, mountpointPodOf, Stage } from "../support/stage.ts";

const cluster = openCluster();

/** In the API server's words. Not its code: hashes in the names of attachments hold any three digits now and then. */
const refusal = /forbidden/i;

let stage: Stage;
let access: ChartAccess;

beforeAll(async () => {
  await installAttachmentKind(cluster);
  stage = await Stage.open(cluster);
  access = await ChartAccess.apply(stage);
});

afterAll(async () => {
  await access[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

it("the reconciler does all its work with the rights of its account", async () => {
  const kubeconfig = await access.kubeconfigOf("controller");
  const flags = [`--pod-namespace=${releaseNamespace}`, "--pod-name=reconciler"];
  await using reconciler = await ReconcilerProcess.start(stage, { kubeconfig, flags });
  await reconciler.said("leading");
  const claims = [await stage.volume(), await stage.volume({ attributes: { bucketName: "" } })];
  const { workload, mountpointPod } = await stage.running("first", claims[0] ?? "");
  const sharer = await stage.workload("sharer", { claims });
  const { name } = mountpointPod.metadata;
  await expect.poll(() => stage.served(), long).toEqual({ [name]: [workload.metadata.uid, sharer.metadata.uid] });
  await expect.poll(() => stage.events(sharer), long).toMatchObject([{ reason: "VolumeRefused" }]);

  for (const each of [workload, sharer]) await stage.deletePod(each);
  await expect.poll(async () => (await stage.mountpointPods()).map(isMarked), long).toEqual([true]);
  await stage.phase(mountpointPod, "Succeeded");
  await expect.poll(() => stage.mountpointPods(), long).toEqual([]);
  expect(await stage.attachments()).toEqual([]);
  expect(await reconciler.stop()).toBe(0); // and gives its lease back
  expect(reconciler.log).not.toMatch(refusal);
});

it("the node plugin sees its attachments, its Mountpoint Pods and the driver's keys with the rights of its account", async () => {
  const name = "s3-secret";
  await cluster.kubectl("create", "secret", "generic", name, "-n", releaseNamespace, "--from-literal=access_key_id=A1");
  await using _reconciler = await ReconcilerProcess.start(stage);
  const claim = await stage.volume();
  const { workload, mountpointPod } = await stage.running("app", claim);
  await expect
    .poll(async () => (await stage.mountpointPod(mountpointPod.metadata.name))?.spec.nodeName, long)
    .toBe(stage.node);
  const lines: string[] = [];
  const call = { ...stage.call, log: jsonLogger((line) => lines.push(line), 4) };
  const kubeconfig = await access.kubeconfigOf("node");
  const secret = `--credentials-secret=${releaseNamespace}/${name}`;
  const env = {
    MOUNTPOINT_NAMESPACE: stage.mountpointNamespace,
    AWS_ENDPOINT_URL: "http://s3",
    CSI_NODE_NAME: stage.node,
  };
  const config = nodeConfigFrom([secret, `--kubeconfig=${kubeconfig}`], env);
  using client = new KubeClient(kubeconfigCredentials(kubeconfig), { userAgent: "test" });
  const view = new NodeView(config, client);
  const driverCredentials = credentialsOfDriver(config.driverCredentials);
  await using _following = ending((signal) => view.follow({ ...call, signal }, new Progress()));
  await using _keys = ending((signal) => driverCredentials.follow({ ...call, signal }, client, new Progress()));

  await expect.poll(() => view.readiness(), long).toEqual({ ready: true });
  expect(view.attachments.store.by("workload", workload.metadata.uid)).toMatchObject([{ persistentVolumeName: claim }]);
  expect(view.mountpointPods.get(mountpointPodOf(workload, claim))).toMatchObject({ persistentVolume: claim });
  // Refused for what it lacks, so it was read; and its change is noticed.
  using limited = deadline(call, long.timeout, "the Secret to be read");
  await expect(driverCredentials.get(limited)).rejects.toThrow("secret_access_key");
  const whole = JSON.stringify({ stringData: { secret_access_key: "S1" } });
  await cluster.kubectl("patch", "secret", name, "-n", releaseNamespace, "-p", whole);
  await expect.poll(() => driverCredentials.known()?.accessKeyId.reveal(), long).toBe("A1");
  expect(lines.join("")).not.toMatch(refusal);
});

type Row = readonly [verb: string, resource: string, where: Where];

it.for<Row>([
  ["list", "pods", "everywhere"],
  ["watch", "persistentvolumes", "everywhere"],
  ["watch", "persistentvolumeclaims", "everywhere"],
  ["create", "mountpoints3podattachments.s3.csi.scality.com", "everywhere"],
  ["patch", "mountpoints3podattachments.s3.csi.scality.com", "everywhere"],
  ["delete", "mountpoints3podattachments.s3.csi.scality.com", "everywhere"],
  ["patch", "mountpoints3podattachments.s3.csi.scality.com/status", "everywhere"],
  ["create", "events", "everywhere"],
  ["patch", "events", "everywhere"],
  ["watch", "storageclasses.storage.k8s.io", "everywhere"],
  ["get", "nodes", "everywhere"],
  ["update", "persistentvolumeclaims", "everywhere"],
  ["create", "persistentvolumes", "everywhere"],
  ["patch", "persistentvolumes", "everywhere"],
  ["delete", "persistentvolumes", "everywhere"],
  ["get", "secrets", "everywhere"],
  ["get", "namespaces/kube-system", "everywhere"],
  ["create", "pods", "mountpoint"],
  ["patch", "pods", "mountpoint"],
  ["delete", "pods", "mountpoint"],
  ["update", "leases.coordination.k8s.io/s3-csi-scality-com", "release"],
  ["create", "leases.coordination.k8s.io", "release"],
  ["patch", "leases.coordination.k8s.io/s3-pod-reconciler", "release"],
  ["patch", "secrets", "everywhere"],
  ["patch", "configmaps/s3-csi-protected-secrets", "release"],
])("SE-2 the controller may %s %s (%s)", async ([verb, resource, where]) => {
  expect(await access.can("controller", verb, resource, where)).toBe("yes");
});

it.for<Row>([
  ["create", "pods", "default"],
  ["patch", "pods", "default"],
  ["delete", "pods", "default"],
  ["create", "pods", "release"],
  ["create", "pods/exec", "mountpoint"],
  ["patch", "pods/status", "mountpoint"],
  ["create", "pods/eviction", "mountpoint"],
  ["list", "secrets", "everywhere"],
  ["watch", "secrets", "everywhere"],
  ["update", "secrets", "everywhere"],
  ["delete", "secrets", "everywhere"],
  ["get", "configmaps", "release"],
  ["patch", "configmaps/other", "release"],
  ["get", "namespaces/default", "everywhere"],
  ["list", "namespaces", "everywhere"],
  ["patch", "storageclasses.storage.k8s.io", "everywhere"],
  ["patch", "persistentvolumeclaims", "default"],
  ["patch", "nodes", "everywhere"],
  ["patch", "leases.coordination.k8s.io/other", "release"],
  ["create", "leases.coordination.k8s.io", "default"],
  ["create", "serviceaccounts/token", "mountpoint"],
  ["patch", "clusterroles.rbac.authorization.k8s.io", "everywhere"],
  ["patch", "customresourcedefinitions.apiextensions.k8s.io", "everywhere"],
])("SE-2 the controller may not %s %s (%s)", async ([verb, resource, where]) => {
  expect(await access.can("controller", verb, resource, where)).toBe("no");
});

it.for<Row>([
  ["list", "mountpoints3podattachments.s3.csi.scality.com", "everywhere"],
  ["watch", "mountpoints3podattachments.s3.csi.scality.com", "everywhere"],
  ["patch", "mountpoints3podattachments.s3.csi.scality.com/status", "everywhere"],
  ["list", "pods", "mountpoint"],
  ["watch", "pods", "mountpoint"],
  ["get", "pods/log", "mountpoint"],
  ["list", "secrets/s3-secret", "release"],
  ["watch", "secrets/s3-secret", "release"],
  ["watch", "nodes", "everywhere"],
  ["patch", "nodes", "everywhere"],
  ["create", "events", "everywhere"],
  ["patch", "events", "everywhere"],
])("SE-2 the node may %s %s (%s)", async ([verb, resource, where]) => {
  expect(await access.can("node", verb, resource, where)).toBe("yes");
});

it.for<Row>([
  ["create", "mountpoints3podattachments.s3.csi.scality.com", "everywhere"],
  ["patch", "mountpoints3podattachments.s3.csi.scality.com", "everywhere"],
  ["delete", "mountpoints3podattachments.s3.csi.scality.com", "everywhere"],
  ["create", "pods", "mountpoint"],
  ["patch", "pods", "mountpoint"],
  ["delete", "pods", "mountpoint"],
  ["create", "pods/exec", "mountpoint"],
  ["get", "pods/log", "default"],
  ["list", "pods", "everywhere"],
  ["list", "pods", "default"],
  ["list", "secrets", "release"],
  ["get", "secrets/other", "release"],
  ["get", "secrets/s3-secret", "default"],
  ["get", "secrets/s3-secret", "mountpoint"],
  ["patch", "secrets/s3-secret", "release"],
  ["list", "persistentvolumes", "everywhere"],
  ["patch", "nodes/status", "everywhere"],
  ["delete", "nodes", "everywhere"],
  ["create", "leases.coordination.k8s.io", "release"],
  ["create", "serviceaccounts/token", "release"],
])("SE-2 the node may not %s %s (%s)", async ([verb, resource, where]) => {
  expect(await access.can("node", verb, resource, where)).toBe("no");
});
