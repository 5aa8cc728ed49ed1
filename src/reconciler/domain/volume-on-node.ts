/**
 * One volume on one node: the unit of work. Everything that workloads, attachments and Mountpoint Pods decide about each
 * other happens within it, so one pair of hands per place needs no lock and writes no conflict.
 */
import type { NodeName, PvName } from "../../core/names.ts";

export interface Place {
  readonly node: NodeName;
  readonly persistentVolume: PvName;
}

export type PlaceKey = string & { readonly __brand: "PlaceKey" };

/** Names of nodes and volumes contain no slash. */
export function placeKey({ node, persistentVolume }: Place): PlaceKey {
  return `${node}/${persistentVolume}` as PlaceKey;
}

export function placeFrom(key: PlaceKey): Place {
  const separator = key.indexOf("/");
  return { node: key.slice(0, separator) as NodeName, persistentVolume: key.slice(separator + 1) as PvName };
}
