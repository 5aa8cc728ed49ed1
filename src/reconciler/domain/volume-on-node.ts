/**
 * One volume on one node: the key of the work queue. Workloads, attachments and Mountpoint Pods of different volumes or nodes do not
 * affect each other, so one worker per key needs no lock and its writes do not conflict.
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

/** The fields by which log lines of all programs name a volume and a node. */
export function logFieldsOf(key: VolumeOnNodeKey): Readonly<Record<string, string>> {
  const { node, persistentVolume } = volumeOnNodeFrom(key);
  return { node, volume: persistentVolume };
}
