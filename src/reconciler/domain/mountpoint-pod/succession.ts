/** The names of the successors of a Mountpoint Pod, and the delay between them. */
import { mountpointPodName, type PodName, type PodUid, type PvName } from "../../../core/names.ts";

/** One more than the last generation in use: a name is not reused while a Pod or an attachment still has it. */
export function nextGeneration(workload: PodUid, volume: PvName, isKnown: (name: PodName) => boolean): number {
  let next = 0;
  for (let generation = 0; generation < next + generationsToLookAhead; generation++) {
    if (isKnown(mountpointPodName(workload, volume, generation))) next = generation + 1;
  }
  return next;
}

/** Predecessors are deleted in the meantime, so the generations in use have gaps. */
const generationsToLookAhead = 16;

/** Exponential: on a node that refuses every Pod, successors would otherwise follow each other without a pause. */
export function successorDelayMs(generation: number): number {
  return generation === 0 ? 0 : Math.min(500 * 2 ** generation, 300_000);
}
