/** `kubectl s3` with the rights that the chart's role for tenants gives in one namespace. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { only, render } from "../chart/rendered-chart.ts";
import { openCluster, type Sandbox } from "../support/cluster.ts";
import { KubectlPlugin } from "../support/kubectl-plugin.ts";

const cluster = openCluster();
const node = "worker-1";
let plugin: KubectlPlugin;

beforeAll(async () => {
  plugin = await KubectlPlugin.build(cluster);
});

afterAll(() => plugin[Symbol.dispose]());

it("OP-5 a tenant sees the volumes of the own namespace, what is wrong with them, and nothing of another tenant", async () => {
  await using own = await cluster.sandbox();
  await using other = await cluster.sandbox();
  const [volume, missing, foreign] = [
    await own.volume(),
    await own.volume({ attributes: { bucketName: "there-is-no-such-bucket" } }),
    await other.volume(),
  ];
  const app = await own.pod("app", { node, claim: volume });
  await own.pod("stuck", { node, claim: missing });
  const foreignApp = await other.pod("foreign-app", { node, claim: foreign });
  const kubeconfig = await tenantOf(own);
  const s3 = (...args: string[]) => plugin.kubectl(["s3", ...args, "-n", own.name], kubeconfig);
  await cluster.untilReady(app);
  await cluster.untilReady(foreignApp);
  await expect
    .poll(() => s3("list"), { timeout: 240_000, interval: 1000 })
    .toMatch(new RegExp(`${missing} +${own.name}/${missing} +- +problem`));

  const answers = [s3("list"), s3("tree"), s3("describe", missing), s3("events"), s3("list", "-o", "json")];
  const [list = "", tree, described, events] = answers;
  expect(list).toMatch(new RegExp(`${volume} +${own.name}/${volume} +- +ok +1 +1`));
  expect(tree).toContain(`Pod ${own.name}/app  Running`);
  expect(described).toContain("there-is-no-such-bucket");
  expect(events).toContain("FailedMount");
  for (const answer of answers) {
    expect(answer).not.toContain(other.name);
    expect(answer).not.toContain("foreign-app");
  }
  // Another namespace, and all of them.
  for (const args of [
    ["s3", "list", "-n", other.name],
    ["s3", "list"],
  ]) {
    expect(plugin.kubectl(args, kubeconfig)).toBe("There are no volumes of this driver.\n");
  }
});

/** A kubeconfig with the token of an account that has the role in its namespace, and no other. */
async function tenantOf({ name: namespace }: Sandbox): Promise<string> {
  const role = only(render({ "tenantRole.create": "true" }), "ClusterRole", "s3-csi-tenant");
  const metadata = { name: "tenant", namespace };
  const group = "rbac.authorization.k8s.io";
  // A Role has the same rules, and goes with the namespace.
  await cluster.apply(
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
    { apiVersion: `${group}/v1`, kind: "Role", metadata, rules: role["rules"] as object[] },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata,
      subjects: [{ kind: "ServiceAccount", ...metadata }],
      roleRef: { apiGroup: group, kind: "Role", name: metadata.name },
    },
  );
  const token = (await cluster.kubectl("create", "token", metadata.name, "-n", namespace)).trim();
  const config = JSON.parse(readFileSync(cluster.lab.layout.kubeconfig, "utf8")) as { users: { user: object }[] };
  for (const each of config.users) each.user = { token };
  const file = join(plugin.directory, `${namespace}.kubeconfig`);
  writeFileSync(file, JSON.stringify(config));
  return file;
}
