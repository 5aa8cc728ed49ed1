/** Nodes that keep workloads away until the driver is there. */
import { expect, it } from "vitest";
import { startupTaintKey } from "../../src/core/names.ts";
import type { Node } from "../../src/kube/kinds.ts";
import { openCluster } from "../support/cluster.ts";

const cluster = openCluster();
const node = "worker-1";
const long = { timeout: 240_000, interval: 200 };
const daemonSet = ["daemonset/s3-csi-node", "-n", "kube-system"];
const nowhere = "s3-csi-test/nowhere";

it("OP-6 twins of the startup taint are removed when the driver comes to the node, and whenever they come back", async () => {
  await selectNodes("true");
  await cluster.kubectl("wait", "--for=delete", "pod", "-l", "app=s3-csi-node", "-n", "kube-system", "--timeout=240s");
  await taint();
  // Nobody takes them off while the driver is away; a foreign one stays for good.
  expect(await taintsWithKey()).toEqual(["NoExecute", "NoSchedule"]);
  await cluster.kubectl("taint", "node", node, "example.com/foreign=stays:PreferNoSchedule");

  await selectNodes(null);
  await expect.poll(taintsWithKey, long).toEqual([]);
  await cluster.kubectl("rollout", "status", ...daemonSet, "--timeout=240s");

  await taint();
  await expect.poll(taintsWithKey, long).toEqual([]);
  expect((await taints()).find(({ key }) => key === "example.com/foreign")).toMatchObject({ value: "stays" });

  await cluster.kubectl("taint", "node", node, "example.com/foreign-");
  // NoExecute has sent it away; others need it.
  await cluster.kubectl("rollout", "status", "deployment/s3-csi-controller", "-n", "kube-system", "--timeout=240s");
});

function taint(): Promise<string> {
  const twins = ["NoSchedule", "NoExecute"].map((effect) => `${startupTaintKey}=:${effect}`);
  return cluster.kubectl("taint", "node", node, ...twins);
}

async function taints() {
  return (await cluster.get<Node>("node", node))?.spec.taints ?? [];
}

async function taintsWithKey(): Promise<readonly string[]> {
  return (await taints())
    .filter(({ key }) => key === startupTaintKey)
    .map(({ effect }) => effect)
    .toSorted();
}

/** No node has the label; null takes the demand for it away. */
async function selectNodes(value: string | null): Promise<void> {
  const patch = { spec: { template: { spec: { nodeSelector: { [nowhere]: value } } } } };
  await cluster.kubectl("patch", ...daemonSet, "--type=merge", "-p", JSON.stringify(patch));
}
