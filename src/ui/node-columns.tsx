import type { GridColumn } from "./data-grid.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { type NodeView, workloadsOn } from "./nodes.ts";

export const nodeColumns: readonly GridColumn<NodeView>[] = [
  { title: "Health", kind: "narrow", cell: ({ health }) => <HealthBadge health={health} /> },
  { title: "Node", kind: "main", cell: ({ name }) => name, hint: ({ name }) => name },
  { title: "Volumes", kind: "number", cell: volumesOn },
  { title: "Mounts", kind: "number", cell: ({ mounts }) => mounts.length },
  { title: "Workloads", kind: "number", cell: workloadsOn },
  { title: "Heals", kind: "number", cell: healsOn },
];

function volumesOn({ mounts }: NodeView): number {
  return new Set(mounts.map(({ volume }) => volume.name)).size;
}

function healsOn({ mounts }: NodeView): number {
  return mounts.reduce((sum, { pod }) => sum + pod.heals, 0);
}
