/**
 * Removes the startup taint from this node once kubelet has registered the driver. Keeps watching, so that a recreated node, or one
 * that an administrator or an autoscaler taints again, becomes usable, too (OP-6).
 */
import { type NodeName, startupTaintKey } from "../../core/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import { kinds, type Node, type Taint } from "../../kube/kinds.ts";
import { Store } from "../../kube/watch/store.ts";
import { type Watched, watch } from "../../kube/watch/watch.ts";
import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";

interface Tainted {
  readonly resourceVersion: string;
  /** Complete, as the server sent them, because the remaining taints are written back. */
  readonly taints: readonly Taint[];
}

type Api = Pick<KubeClient, "pages" | "watch" | "patch">;

/** Runs until the call ends. Failures are retried without limit; the same failure is logged once. */
export async function removeStartupTaint(
  call: Call,
  client: Api,
  node: NodeName,
  registered: Promise<void>,
): Promise<void> {
  using queue = new WorkQueue<NodeName>();
  const store = new Store<Tainted>({});
  using _changes = store.subscribe(() => queue.add(node));
  const own: Watched<Node, Tainted> = {
    kind: kinds.nodes,
    fieldSelector: `metadata.name=${node}`,
    trim: ({ metadata, spec }) => ({ resourceVersion: metadata.resourceVersion, taints: spec.taints ?? [] }),
  };
  const reconcile = async (attempt: Call): Promise<Outcome> => {
    await orAborted(attempt, registered);
    const seen = store.get(node);
    if (seen !== undefined) await removeFrom(attempt, client, node, seen);
    return { kind: "done" };
  };
  await Promise.all([watch(call, client, own, store), runController(call, { queue, workers: 1, reconcile })]);
}

/** Other controllers write taints, too: with the resourceVersion the API server refuses the patch if the node has changed. */
async function removeFrom(
  call: Call,
  client: Api,
  node: NodeName,
  { resourceVersion, taints }: Tainted,
): Promise<void> {
  const remaining = withoutStartupTaint(taints);
  if (remaining.length === taints.length) return;
  await client.patch(call, kinds.nodes, { name: node }, { metadata: { resourceVersion }, spec: { taints: remaining } });
  call.log.info("startup taint removed", { removed: taints.length - remaining.length });
}

/** A node may have one taint per effect with the same key. */
function withoutStartupTaint(taints: readonly Taint[]): readonly Taint[] {
  return taints.filter(({ key }) => key !== startupTaintKey);
}
