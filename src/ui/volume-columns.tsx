import { age } from "../cli/output/age.ts";
import type { VolumeView } from "../topology/topology.ts";
import type { GridColumn } from "./data-grid.tsx";
import { HealthBadge } from "./health-badge.tsx";
import { nodeCount, workloadsOf } from "./totals.ts";
import { VolumeTraffic } from "./traffic.tsx";

export function volumeColumns(now: string): readonly GridColumn<VolumeView>[] {
  return [
    { title: "Health", kind: "narrow", cell: ({ health }) => <HealthBadge health={health} /> },
    { title: "Volume", kind: "main", cell: ({ name }) => name, hint: ({ name }) => name },
    { title: "Claim", kind: "text", cell: claimOf, hint: claimOf },
    { title: "Bucket", kind: "text", cell: bucketOf, hint: bucketOf },
    { title: "Nodes", kind: "number", cell: nodeCount },
    { title: "Pods", kind: "number", cell: workloadsOf },
    { title: "Traffic", kind: "number traffic", cell: (volume) => <VolumeTraffic volume={volume} /> },
    { title: "Age", kind: "number", cell: ({ createdAt }) => age(createdAt, now) },
  ];
}

export function claimOf({ claim }: VolumeView): string {
  return claim === undefined ? "–" : `${claim.namespace}/${claim.name}`;
}

export function bucketOf({ bucket, prefix }: VolumeView): string {
  return prefix === "" ? bucket : `${bucket}/${prefix}`;
}
