/** The node plugin as a process on its node, which a test can stop, kill or replace. */
import { vi } from "vitest";
import type { ProcessId } from "../../lab/process-id.ts";
import type { Pod } from "../../src/kube/kinds.ts";
import type { Cluster, PodRef } from "./cluster.ts";
import { processOf } from "./container-process.ts";

const namespace = "kube-system";

export async function pluginPod(cluster: Cluster, node: string): Promise<PodRef> {
  const pods = await cluster.list<Pod>("pods", "-n", namespace, "-l", "app=s3-csi-node");
  const alive = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const name = alive.find(({ spec }) => spec.nodeName === node)?.metadata.name;
  if (name === undefined) throw new Error(`no node plugin runs on ${node}`);
  return { namespace, name };
}

/** Waits for it to be ready. */
export async function pluginProcess(cluster: Cluster, node: string): Promise<ProcessId> {
  return await vi.waitFor(
    async () => {
      const pod = await pluginPod(cluster, node);
      await cluster.untilReady(pod);
      const id = await processOf(cluster, pod);
      if (id === undefined) throw new Error(`${pod.name} does not run`);
      return id;
    },
    { timeout: 240_000, interval: 200 },
  );
}

/** One that may be killed: kubelet starts its container again at once the first time, and later keeps it waiting. */
export async function mortalPlugin(cluster: Cluster, node: string): Promise<ProcessId> {
  const { namespace: at, name } = await pluginPod(cluster, node);
  const [container] = (await cluster.get<Pod>("pod", name, "-n", at))?.status?.containerStatuses ?? [];
  if (container?.restartCount !== 0) await replacePlugin(cluster, node);
  return await pluginProcess(cluster, node);
}

export async function replacePlugin(cluster: Cluster, node: string): Promise<void> {
  // In order: two at a time would take each other's socket away.
  await cluster.deletePod(await pluginPod(cluster, node));
  await pluginProcess(cluster, node);
}

/** No node has a node plugin until the end of the scope. */
export async function withoutPlugins(cluster: Cluster): Promise<AsyncDisposable> {
  await selectNodes(cluster, "true");
  await cluster.kubectl("wait", "--for=delete", "pod", "-l", "app=s3-csi-node", "-n", namespace, "--timeout=240s");
  return {
    [Symbol.asyncDispose]: async () => {
      await selectNodes(cluster, null);
      await untilReplaced(cluster);
    },
  };
}

/** No node has the label; null takes the demand for it away. */
async function selectNodes(cluster: Cluster, value: string | null): Promise<void> {
  const patch = { spec: { template: { spec: { nodeSelector: { "s3-csi-test/nowhere": value } } } } };
  await cluster.kubectl("patch", "daemonset/s3-csi-node", "-n", namespace, "--type=merge", "-p", JSON.stringify(patch));
}

/** Node plugins whose system calls report a kernel before 6.5 (personality UNAME26), until the end of the scope. */
export async function pluginsOnOldKernel(cluster: Cluster): Promise<AsyncDisposable> {
  await setPluginCommand(cluster, ["setarch", "--uname-2.6", "/bin/scality-s3-csi-driver"]);
  await untilReplaced(cluster);
  return {
    [Symbol.asyncDispose]: async () => {
      await setPluginCommand(cluster, undefined);
      await untilReplaced(cluster);
    },
  };
}

/** The arguments of the chart follow the command. It sets no command, so Helm finds nothing of its own changed. Waits for nothing. */
export async function setPluginCommand(cluster: Cluster, command: readonly string[] | undefined): Promise<void> {
  const path = "/spec/template/spec/containers/0/command";
  const step = command === undefined ? { op: "remove", path } : { op: "add", path, value: command };
  await cluster.kubectl("patch", "daemonset/s3-csi-node", "-n", namespace, "--type=json", "-p", JSON.stringify([step]));
}

async function untilReplaced(cluster: Cluster): Promise<void> {
  await cluster.kubectl("rollout", "status", "daemonset/s3-csi-node", "-n", namespace, "--timeout=240s");
}
