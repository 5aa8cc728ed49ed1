/**
 * The nodes that may have waiting Mountpoint Pods, and the node plugins on them. Followed by a leader only, and only where Mountpoint Pods
 * are to wait: of 5,000 nodes it keeps 5,000 small objects, and drops what else a Node says every few minutes.
 */
import { isDeepStrictEqual } from "node:util";
import { startFailure } from "../../core/failures/start-failure.ts";
import type { NodeName } from "../../core/names.ts";
import { kinds, type Node, type Pod } from "../../kube/kinds.ts";
import { Store } from "../../kube/watch/store.ts";
import { type Watched, type Watcher, watch } from "../../kube/watch/watch.ts";
import type { Call } from "../../runtime/call.ts";
import type { Pulses } from "../../runtime/progress.ts";
import type { NodeState } from "./decide.ts";

/** The label of the node plugin's Pods, which 2.x has, too. */
const nodePlugins = "app=s3-csi-node";

export class WarmNodes {
  readonly states = new Store<NodeState & { readonly name: NodeName }>({}, isDeepStrictEqual);
  readonly plugins = new Store<NodeName, "node">({ node: (node) => [node] }, isDeepStrictEqual);

  /** Keeps both stores up to date until the call ends. The program goes on after that, as one that does not lead. */
  async follow(call: Call, client: Watcher, namespace: string, progress: Pulses): Promise<void> {
    using ofNodes = progress.pulse("watch over nodes");
    using ofPlugins = progress.pulse("watch over node plugins");
    const nodes: Watched<Node, NodeState & { readonly name: NodeName }> = {
      kind: kinds.nodes,
      turned: ofNodes,
      trim: (node) => ({ name: node.metadata.name as NodeName, ...nodeStateFrom(node) }),
    };
    const plugins: Watched<Pod, NodeName> = {
      kind: kinds.pods,
      turned: ofPlugins,
      namespace,
      labelSelector: nodePlugins,
      keep: (pod) => isAtWork(pod),
      trim: ({ spec }) => spec.nodeName as NodeName,
    };
    await Promise.all([watch(call, client, nodes, this.states), watch(call, client, plugins, this.plugins)]);
  }

  async synced(call: Call): Promise<void> {
    await Promise.all([this.states.synced(call), this.plugins.synced(call)]);
  }
}

/**
 * A node plugin that is scheduled, and of which kubelet does not report that it cannot run. Its condition Ready is not asked for: the
 * node controller sets it to False on a node that is not ready, which is to keep its Mountpoint Pods.
 */
export function isAtWork({ metadata, spec, status }: Pick<Pod, "metadata" | "spec" | "status">): boolean {
  const waiting = (status?.containerStatuses ?? []).map(({ state }) => state?.waiting);
  const isBroken = startFailure(waiting) !== undefined || waiting.some((each) => each?.reason === "CrashLoopBackOff");
  return Boolean(spec.nodeName) && metadata.deletionTimestamp === undefined && !isBroken;
}

const pressures: ReadonlySet<string> = new Set(["MemoryPressure", "DiskPressure", "PIDPressure"]);

function nodeStateFrom({ spec, status = {} }: Pick<Node, "spec" | "status">): NodeState {
  const holds = (status.conditions ?? []).filter((condition) => condition.status === "True").map(({ type }) => type);
  return {
    cordoned: spec.unschedulable ?? false,
    pressure: holds.some((type) => pressures.has(type)),
    ready: holds.includes("Ready"),
  };
}
