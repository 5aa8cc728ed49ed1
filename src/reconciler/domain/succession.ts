/** The names of successors of a Mountpoint Pod that died, and how soon they follow each other. */
import { mountpointPodName, type PodName, type PodUid, type PvName } from "../../core/names.ts";

/** One more than the last that is known of: a name is not used again while anything remembers its former bearer. */
export function nextGeneration(workload: PodUid, volume: PvName, isKnown: (name: PodName) => boolean): number {
  let next = 0;
  for (let generation = 0; generation < next + generationsToLookAhead; generation++) {
    if (isKnown(mountpointPodName(workload, volume, generation))) next = generation + 1;
  }
  return next;
}

/** Predecessors are deleted in the meantime, so their numbers have gaps. */
const generationsToLookAhead = 16;

/** On a node that refuses every Pod, successors would otherwise follow each other without a pause. */
export function successorDelayMs(generation: number): number {
  return generation === 0 ? 0 : Math.min(500 * 2 ** generation, 300_000);
}
