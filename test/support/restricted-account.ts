/** An account with the rights that the chart gives the controller, but for some: as under manifests of 2.x. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { only, render } from "../chart/rendered-chart.ts";
import type { Stage } from "./stage.ts";

/** Without its part in the election, and without any right to the resource that is named. Gives the kubeconfig. */
export async function restrictedAccount(stage: Stage, without?: string): Promise<string> {
  const { name: namespace, cluster } = stage;
  const account = { kind: "ServiceAccount", name: "reconciler", namespace };
  const rules = only(render(), "ClusterRole", "s3-csi-driver-controller-cluster-role")["rules"] as Rule[];
  const kept = rules.filter(({ resources }) => without === undefined || !resources.includes(without));
  const writesPods = { apiGroups: [""], resources: ["pods"], verbs: ["create", "patch", "delete"] };
  const metadata = { name: namespace };
  onTestFinished(async () => void (await cluster.kubectl("delete", "clusterrole,clusterrolebinding", namespace)));
  await cluster.apply(
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account.name, namespace } },
    { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata, rules: [...kept, writesPods] },
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata,
      subjects: [account],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: namespace },
    },
  );
  const token = (await cluster.kubectl("create", "token", account.name, "-n", namespace)).trim();
  const config = JSON.parse(readFileSync(cluster.lab.layout.kubeconfig, "utf8")) as { users: { user: object }[] };
  const directory = mkdtempSync(join(tmpdir(), "kubeconfig-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const users = config.users.map((one) => ({ ...one, user: { token } }));
  writeFileSync(join(directory, "kubeconfig"), JSON.stringify({ ...config, users }));
  return join(directory, "kubeconfig");
}

interface Rule {
  readonly resources: readonly string[];
}
