/** SecurityContextConstraints on an API server that knows the kind, though not what it means. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { chart, helm } from "../../lab/install-driver.ts";
import { goldenDirectory } from "../chart/rendered-chart.ts";
import { openCluster } from "../support/cluster.ts";
import { installAttachmentKind } from "../support/stage.ts";

const cluster = openCluster();
const namespace = `t-${randomBytes(4).toString("hex")}`;
const group = "security.openshift.io";
const plural = `securitycontextconstraints.${group}`;
const nodeConstraints = "scality-s3-csi-node-scc";
const mounterConstraints = "scality-s3-csi-mounter-scc";

beforeAll(async () => {
  await installAttachmentKind(cluster);
  const kind = "SecurityContextConstraints";
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  await cluster.apply(
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: plural },
      spec: {
        group,
        scope: "Cluster",
        names: { kind, plural: "securitycontextconstraints", singular: "securitycontextconstraint" },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    },
  );
  await cluster.kubectl("wait", "--for=condition=Established", `crd/${plural}`, "--timeout=240s");
});

afterAll(async () => {
  await cluster.kubectl("delete", "crd", plural, "--wait=true");
  await cluster.kubectl("delete", "namespace", namespace, "--wait=false");
});

it("CH-8 constraints of 2.x that were made by hand are left alone, and the release has others in their place", async () => {
  const byHand = { apiVersion: `${group}/v1`, kind: "SecurityContextConstraints", metadata: { name: nodeConstraints } };
  await cluster.apply({ ...byHand, users: ["somebody"] });
  const names = [mounterConstraints, `release-${nodeConstraints}`, nodeConstraints].toSorted();

  await release("install");
  expect(await constraints()).toEqual(names);
  await release("upgrade");
  expect(await constraints()).toEqual(names);

  await release("uninstall");
  expect(await constraints()).toEqual([nodeConstraints]);
  expect(await cluster.get(plural, nodeConstraints)).toMatchObject({ users: ["somebody"] });
});

async function constraints(): Promise<readonly string[]> {
  return (await cluster.list(plural)).map(({ metadata }) => metadata.name).toSorted();
}

/** With nothing of the whole cluster but the constraints, and nothing that runs. */
async function release(verb: "install" | "upgrade" | "uninstall"): Promise<void> {
  const values = [
    "openshift.enabled=true",
    "controller.replicas=0",
    "node.nodeSelector.nowhere=yes",
    `mountpointPod.namespace=${namespace}`,
  ];
  const lean = [chart, "--values", join(goldenDirectory, "lean.values.yaml")];
  const what = verb === "uninstall" ? [] : [...lean, ...values.flatMap((value) => ["--set", value])];
  const signal = AbortSignal.timeout(240_000);
  // The Job before an uninstallation needs a node.
  const hooks = verb === "uninstall" ? ["--no-hooks"] : [];
  await helm(cluster.lab, [verb, "release", ...what, ...hooks, "--namespace", namespace], { signal });
}
