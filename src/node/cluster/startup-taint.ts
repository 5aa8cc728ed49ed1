/**
 * Takes the startup taint off this node once kubelet knows the driver, for as long as the program lives: a node that is
 * made anew, or tainted again by hand or by an autoscaler, becomes usable again, too (OP-6).
 */
import { type NodeName, startupTaintKey } from "../../core/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { runController } from "../../kube/controller/run-controller.ts";
import { type Outcome, WorkQueue } from "../../kube/controller/work-queue.ts";
import { kinds, type Node, type Taint } from "../../kube/kinds.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import { Store } from "../../kube/watch/store.ts";
import { type Watched, watch } from "../../kube/watch/watch.ts";
import type { Call } from "../../runtime/call.ts";

interface Tainted {
  readonly resourceVersion: string;
  /** Whole, as the server sent them: what stays is written back. */
  readonly taints: readonly Taint[];
}

type Api = Pick<KubeClient, "pages" | "watch" | "patch">;

/** Ends with the call. A failure is tried again without limit; a missing right is logged once and costs only this. */
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

/** Others write taints as well: with the version in it, the patch is refused if they did since we looked. */
async function removeFrom(
  call: Call,
  client: Api,
  node: NodeName,
  { resourceVersion, taints }: Tainted,
): Promise<void> {
  const left = withoutStartupTaint(taints);
  if (left.length === taints.length) return;
  await client.patch(call, kinds.nodes, { name: node }, { metadata: { resourceVersion }, spec: { taints: left } });
  call.log.info("startup taint removed", { removed: taints.length - left.length });
}

/** A key may be there once for every effect. */
function withoutStartupTaint(taints: readonly Taint[]): readonly Taint[] {
  return taints.filter(({ key }) => key !== startupTaintKey);
}
