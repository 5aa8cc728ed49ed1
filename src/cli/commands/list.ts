/** `kubectl s3 list`: one line for each volume. */

import type { MountpointPodView, Topology, VolumeView } from "../../topology/topology.ts";
import { age } from "../output/age.ts";
import type { Style } from "../output/style.ts";
import { type Column, table } from "../output/table.ts";

export function listText({ volumes, readAt }: Topology, style: Style, isWide: boolean): string {
  if (volumes.length === 0) return "There are no volumes of this driver.\n";
  const columns = allColumns(style, readAt).filter(({ wide }) => isWide || wide !== true);
  return table(columns, volumes);
}

function allColumns(style: Style, now: string): readonly Column<VolumeView>[] {
  return [
    { title: "VOLUME", value: ({ name }) => name },
    { title: "CLAIM", value: ({ claim }) => (claim === undefined ? "" : `${claim.namespace}/${claim.name}`) },
    { title: "BUCKET", value: ({ bucket, prefix }) => (prefix === "" ? bucket : `${bucket}/${prefix}`) },
    { title: "HEALTH", value: ({ health }) => health, paint: ({ health }, text) => style.health(health, text) },
    { title: "NODES", value: ({ attachments }) => String(new Set(attachments.map(({ node }) => node)).size) },
    { title: "PODS", value: (volume) => String(podsOf(volume).flatMap(({ workloads }) => workloads).length) },
    { title: "AGE", value: ({ createdAt }) => age(createdAt, now) },
    { title: "PHASE", value: ({ phase }) => phase, wide: true },
    { title: "MODES", value: ({ accessModes }) => accessModes.join(","), wide: true },
    { title: "CLASS", value: ({ storageClass }) => storageClass, wide: true },
    { title: "IDENTITY", value: ({ identity }) => identity, wide: true },
    { title: "OPTIONS", value: ({ mountOptions }) => mountOptions.join(","), wide: true },
    { title: "HEALS", value: (volume) => String(sum(podsOf(volume).map(({ heals }) => heals))), wide: true },
    { title: "PROBLEM", value: ({ problems }) => problems[0] ?? "", wide: true },
  ];
}

function podsOf({ attachments }: VolumeView): readonly MountpointPodView[] {
  return attachments.flatMap(({ mountpointPods }) => mountpointPods);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}
