/** Pure: which volumes, nodes and events a search finds. */

import type { EventView } from "../page/page-state.ts";
import type { Health, VolumeView } from "../topology/topology.ts";
import type { NodeView } from "./nodes.ts";

export interface Search {
  /** Words; all of them must be found. */
  readonly text: string;
  /** Undefined: any. */
  readonly health: Health | undefined;
}

export function volumesFound(volumes: readonly VolumeView[], { text, health }: Search): readonly VolumeView[] {
  const words = wordsOf(text);
  return volumes.filter((each) => (health === undefined || each.health === health) && hasAll(volumeText(each), words));
}

export function nodesFound(nodes: readonly NodeView[], { text, health }: Search): readonly NodeView[] {
  const words = wordsOf(text);
  return nodes.filter(
    (node) =>
      (health === undefined || node.health === health) &&
      hasAll([node.name, ...node.mounts.map(({ volume }) => volumeText(volume))].join("\n").toLowerCase(), words),
  );
}

export function eventsFound(events: readonly EventView[], { text }: Search): readonly EventView[] {
  const words = wordsOf(text);
  return events.filter(({ kind, namespace, name, reason, message, volumes }) =>
    hasAll([kind, namespace, name, reason, message, ...volumes].join("\n").toLowerCase(), words),
  );
}

function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
}

function hasAll(text: string, words: readonly string[]): boolean {
  return words.every((word) => text.includes(word));
}

/** A volume that did not change is the same object after an update, and its text is not made again. */
const texts = new WeakMap<VolumeView, string>();

function volumeText(volume: VolumeView): string {
  const known = texts.get(volume);
  if (known !== undefined) return known;
  const { name, claim, bucket, prefix, handle, storageClass, problems, attachments } = volume;
  const pods = attachments.flatMap(({ mountpointPods }) => mountpointPods);
  const workloads = pods.flatMap((pod) => pod.workloads);
  const text = [
    ...[name, `${claim?.namespace ?? ""}/${claim?.name ?? ""}`, `${bucket}/${prefix}`, handle, storageClass],
    ...problems,
    ...attachments.flatMap((each) => [each.node, each.name]),
    ...pods.map((pod) => pod.name),
    ...workloads.map((each) => `${each.namespace ?? ""}/${each.name ?? ""} ${each.uid}`),
  ]
    .join("\n")
    .toLowerCase();
  texts.set(volume, text);
  return text;
}
