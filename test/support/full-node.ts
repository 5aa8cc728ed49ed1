/** A node without room for another Mountpoint Pod, for a while. */
import { freeRoom, type NodeObject, type PodOnNode } from "../../src/reconciler/rollout/node-facts.ts";
import { type PodRef, podManifest, type Sandbox } from "./cluster.ts";

/** Less than a Mountpoint Pod requests. */
const leftMillicores = 5;

/** A Pod of the sandbox requests what is left of the node's CPU until the end of the scope. Mountpoint Pods preempt nothing. */
export async function withFullNode(sandbox: Sandbox, node: string): Promise<AsyncDisposable> {
  const { cluster } = sandbox;
  const object = await cluster.get<NodeObject>("node", node);
  const pods = await cluster.list<PodOnNode>("pods", "-A", "--field-selector", `spec.nodeName=${node}`);
  const free = object && freeRoom(object, pods);
  if (free === undefined) throw new Error(`node ${node} does not say how much room it has`);
  const cpu = `${Math.floor(1000 * free.cpu) - leftMillicores}m`;
  const ref: PodRef = { namespace: sandbox.name, name: "filler" };
  const manifest = podManifest(ref, { node }) as { spec: { containers: { resources?: object }[] } };
  Object.assign(manifest.spec.containers[0] ?? {}, { resources: { requests: { cpu } } });
  await cluster.apply(manifest);
  await cluster.untilReady(ref);
  return { [Symbol.asyncDispose]: () => cluster.deletePod(ref) };
}
