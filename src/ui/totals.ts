/** Pure: the figures of the overview. */

import type { PageState } from "../page/page-state.ts";
import type { Health, VolumeView } from "../topology/topology.ts";

export interface Totals {
  readonly volumes: number;
  readonly byHealth: Readonly<Record<Health, number>>;
  readonly nodes: number;
  readonly mountpointPods: number;
  /** Pods: one that uses two volumes counts once. */
  readonly workloads: number;
}

export function totalsOf({ volumes, orphanedPods }: PageState): Totals {
  const count = (health: Health) => volumes.filter((each) => each.health === health).length;
  const attachments = volumes.flatMap((each) => each.attachments);
  const pods = attachments.flatMap(({ mountpointPods }) => mountpointPods);
  return {
    volumes: volumes.length,
    byHealth: { problem: count("problem"), waiting: count("waiting"), ok: count("ok"), idle: count("idle") },
    nodes: new Set(attachments.map(({ node }) => node)).size,
    mountpointPods: pods.length + orphanedPods.length,
    workloads: new Set(pods.flatMap(({ workloads }) => workloads.map(({ uid }) => uid))).size,
  };
}

export function workloadsOf({ attachments }: VolumeView): number {
  const pods = attachments.flatMap(({ mountpointPods }) => mountpointPods);
  return pods.reduce((sum, { workloads }) => sum + workloads.length, 0);
}

export function nodeCount({ attachments }: VolumeView): number {
  return new Set(attachments.map(({ node }) => node)).size;
}
