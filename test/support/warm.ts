/** Mountpoint Pods that wait for a volume, on the nodes of a stage. */
import { vi } from "vitest";
import { labels } from "../../src/core/names.ts";
import { kinds, type Pod } from "../../src/kube/kinds.ts";
import { ReconcilerProcess } from "./reconciler-process.ts";
import { ifItIsThere, long, type Stage } from "./stage.ts";

const owner = "warm-owner";

/** A reconciler that keeps one waiting on each node with a node plugin: that of the stage's first node. */
export async function startWithWarm(
  stage: Stage,
  perNode = 1,
  flags: readonly string[] = [],
): Promise<ReconcilerProcess> {
  return await ReconcilerProcess.start(stage, {
    flags: [
      ...[`--warm-per-node=${perNode}`, `--warm-owner=${owner}`],
      ...[`--pod-namespace=${stage.name}`, "--pod-name=reconciler"],
      ...flags,
    ],
  });
}

/** What the chart creates, and a node plugin on the first node of the stage. */
export async function prepareWarm(stage: Stage): Promise<void> {
  const metadata = { name: owner, namespace: stage.mountpointNamespace };
  await stage.client.create(stage.call, kinds.configMaps, { metadata });
  await nodePlugin(stage);
}

/** A Pod that looks like the node plugin's, wherever it is. */
export async function nodePlugin(stage: Stage, namespace = stage.name, node = stage.node): Promise<void> {
  await stage.client.create(stage.call, kinds.pods, {
    metadata: { name: "s3-csi-node", namespace, labels: { app: "s3-csi-node" } },
    spec: {
      nodeName: node,
      tolerations: [{ operator: "Exists" }],
      containers: [{ name: "s3-plugin", image: "driver" }],
    },
  } as { metadata: { name: string } });
}

export async function removeOwner(stage: Stage): Promise<void> {
  const ref = { name: owner, namespace: stage.mountpointNamespace };
  const found = await stage.client.get(stage.call, kinds.configMaps, ref);
  if (found !== undefined) await stage.client.delete(stage.call, kinds.configMaps, ref, { uid: found.metadata.uid });
}

/** kubelet's report, which the node controller replaces after a while on a node without kubelet. */
export async function reportNode(stage: Stage, condition: object = {}): Promise<void> {
  const ready = { type: "Ready", status: "True", reason: "KubeletReady" };
  const conditions = [ready, ...(Object.keys(condition).length === 0 ? [] : [condition])];
  const now = new Date().toISOString();
  const times = { lastHeartbeatTime: now, lastTransitionTime: now };
  const written = conditions.map((each) => Object.assign(each, times));
  await stage.patch(`/api/v1/nodes/${stage.node}/status`, { status: { conditions: written } });
}

export async function waitingPods(stage: Stage): Promise<readonly Pod[]> {
  const all = await stage.mountpointPods();
  return all.filter(({ metadata }) => metadata.labels?.[labels.warm] === "waiting" && !metadata.deletionTimestamp);
}

/** As kubelet does with those that are being deleted. */
async function letGo(stage: Stage): Promise<void> {
  for (const pod of await stage.mountpointPods()) {
    if (pod.metadata.deletionTimestamp !== undefined) await ifItIsThere(stage.deletePod(pod));
  }
}

/** Until exactly one waits that is not among `others`; it runs when this returns. */
export async function untilWarm(stage: Stage, ...others: readonly string[]): Promise<Pod> {
  return await vi.waitFor(async () => {
    await reportNode(stage);
    await letGo(stage);
    const [pod, ...more] = (await waitingPods(stage)).filter(({ metadata }) => !others.includes(metadata.name));
    if (pod === undefined || more.length > 0) throw new Error(`${more.length + (pod ? 1 : 0)} wait`);
    await stage.phase(pod, "Running");
    return pod;
  }, long);
}
