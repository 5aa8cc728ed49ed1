/**
 * One volume on one node: the unit of work. Everything that workloads, attachments and Mountpoint Pods decide about each
 * other happens within it, so one pair of hands per place needs no lock and writes no conflict.
 */
import type { NodeName, PvName } from "../../core/names.ts";

export interface VolumeOnNode {
  readonly node: NodeName;
  readonly persistentVolume: PvName;
}

export type VolumeOnNodeKey = string & { readonly __brand: "VolumeOnNodeKey" };

/** Names of nodes and volumes contain no slash. */
export function volumeOnNodeKey({ node, persistentVolume }: VolumeOnNode): VolumeOnNodeKey {
  return `${node}/${persistentVolume}` as VolumeOnNodeKey;
}

export function volumeOnNodeFrom(key: VolumeOnNodeKey): VolumeOnNode {
  const separator = key.indexOf("/");
  return { node: key.slice(0, separator) as NodeName, persistentVolume: key.slice(separator + 1) as PvName };
}
