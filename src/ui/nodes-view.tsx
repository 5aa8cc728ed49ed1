import { useMemo } from "preact/hooks";
import type { EventView } from "../page/page-state.ts";
import { ListAndDetails } from "./list-and-details.tsx";
import { nodeColumns } from "./node-columns.tsx";
import { NodeDetails } from "./node-details.tsx";
import { type NodeView, nodesOf } from "./nodes.ts";
import { nodesFound } from "./search.ts";
import { useNow } from "./use-now.ts";
import type { ViewProps } from "./view-props.ts";

export function NodesView({ state, search, route, go }: ViewProps) {
  const now = useNow();
  const nodes = useMemo(() => nodesOf(state.volumes), [state.volumes]);
  const rows = useMemo(() => nodesFound(nodes, search), [nodes, search]);
  const node = nodes.find(({ name }) => name === route.selected);
  return (
    <ListAndDetails
      what="nodes"
      rows={rows}
      total={nodes.length}
      columns={nodeColumns}
      keyOf={({ name }) => name}
      selected={route.selected}
      onSelect={(selected) => go({ view: "nodes", selected })}
      details={(heading) =>
        node === undefined ? (
          <p class="quiet">{absence(route.selected, nodes.length)}</p>
        ) : (
          <NodeDetails node={node} events={eventsOn(node, state.events)} now={now} headingRef={heading} />
        )
      }
    />
  );
}

/** About the Mountpoint Pods and workloads of the node. */
function eventsOn({ mounts }: NodeView, events: readonly EventView[]): readonly EventView[] {
  const pods = new Set(
    mounts.flatMap(({ pod }) => [
      `${pod.namespace}/${pod.name}`,
      ...pod.workloads.map(({ namespace, name }) => `${namespace}/${name}`),
    ]),
  );
  return events.filter(({ kind, namespace, name }) => kind === "Pod" && pods.has(`${namespace}/${name}`));
}

function absence(selected: string, total: number): string {
  if (total === 0) return "No node uses a volume of this driver.";
  return selected === "" ? "Select a node to see its Mountpoint Pods." : `${selected} uses no volume.`;
}
