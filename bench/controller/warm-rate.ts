/**
 * How fast workloads that are created at once get Mountpoint Pods that wait for them (WM-1), beside new ones in the same run: the same
 * claims twice, each time with a reconciler that serves nobody else.
 */
import { setTimeout as delay } from "node:timers/promises";
import { labels } from "../../src/core/names.ts";
import { kinds } from "../../src/kube/kinds.ts";
import { inParallel } from "../../test/support/in-parallel.ts";
import type { SimulatedCluster } from "./simulated-cluster.ts";

const owner = "warm-mountpoint-pods";

/** What the chart installs where Mountpoint Pods are to wait: their owner, and a node plugin on each node. */
export async function prepareWarm({ call, client, name, mountpointNamespace, nodes }: SimulatedCluster): Promise<void> {
  const metadata = { name: owner, namespace: mountpointNamespace };
  await client.create(call, kinds.configMaps, { metadata });
  await inParallel(nodes, async (node) => {
    await client.create(call, kinds.pods, {
      metadata: { name: `s3-csi-${node}`, namespace: name, labels: { app: "s3-csi-node" } },
      spec: {
        nodeName: node,
        terminationGracePeriodSeconds: 0,
        tolerations: [{ operator: "Exists" }],
        containers: [{ name: "s3-plugin", image: "driver" }],
      },
    } as { metadata: { name: string } });
  });
}

/** Flags of a reconciler that keeps as many on each node as `workloads` in turns need. */
export function warmFlags({ name, nodes }: SimulatedCluster, workloads: number): readonly string[] {
  return [
    ...[`--warm-per-node=${Math.ceil(workloads / nodes.length)}`, `--warm-owner=${owner}`],
    ...[`--pod-namespace=${name}`, "--pod-name=warm"],
  ];
}

/** Until at least so many run and wait for a volume. */
export async function untilWaiting(simulated: SimulatedCluster, count: number): Promise<void> {
  for (const limit = AbortSignal.timeout(600_000); (await warmPods(simulated, "waiting")) < count; ) {
    await delay(1000, undefined, { signal: limit });
  }
}

/** How many a volume has got. */
export async function taken(simulated: SimulatedCluster): Promise<number> {
  return await warmPods(simulated, "assigned");
}

async function warmPods(simulated: SimulatedCluster, state: "waiting" | "assigned"): Promise<number> {
  const { call, client, mountpointNamespace: namespace } = simulated;
  const pods = await client.list(call, kinds.pods, { namespace, labelSelector: `${labels.warm}=${state}` });
  return pods.filter(({ status }) => status?.phase === "Running").length;
}
