/** Pure: the topology seen from the nodes. */
import { worst } from "../topology/health.ts";
import type { AttachmentView, Health, MountpointPodView, VolumeView } from "../topology/topology.ts";

export interface NodeView {
  readonly name: string;
  readonly health: Health;
  readonly mounts: readonly Mount[];
}

/** One Mountpoint Pod with the volume that it serves. */
export interface Mount {
  readonly volume: VolumeView;
  readonly attachment: AttachmentView;
  readonly pod: MountpointPodView;
}

/** Nodes that use a volume, by name. */
export function nodesOf(volumes: readonly VolumeView[]): readonly NodeView[] {
  const mounts = new Map<string, Mount[]>();
  for (const volume of volumes) {
    for (const attachment of volume.attachments) {
      const onNode = mounts.get(attachment.node) ?? [];
      onNode.push(...attachment.mountpointPods.map((pod) => ({ volume, attachment, pod })));
      mounts.set(attachment.node, onNode);
    }
  }
  return [...mounts]
    .map(([name, onNode]) => ({ name, mounts: onNode, health: worst(onNode.map(({ pod }) => pod.health)) }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export function workloadsOn({ mounts }: NodeView): number {
  return mounts.reduce((sum, { pod }) => sum + pod.workloads.length, 0);
}
