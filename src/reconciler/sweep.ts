/**
 * The stale cleanup of contract 1.6: reconciles every volume on every node at the beginning and periodically, whether or not a watch
 * reported a change.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../runtime/call.ts";
import { TurnLimit } from "../runtime/turn-limit.ts";
import { type VolumeOnNodeKey, volumeOnNodeKey } from "./domain/volume-on-node.ts";
import { type View, volumeOnNodeOf, volumesOnNodeOf } from "./observe/view.ts";

interface Queue {
  add(key: VolumeOnNodeKey): void;
  addInBackground(key: VolumeOnNodeKey): void;
}

/** Ends when the call does. Operators search the log for "cleanup" (contract 1.11). */
export async function sweep(call: Call, view: View, queue: Queue, intervalMs: number): Promise<void> {
  await queueEach(call, waitedFor(view), (key) => queue.add(key));
  await queueEach(call, everyVolumeOnNode(view), (key) => queue.addInBackground(key));
  while (!call.signal.aborted) {
    try {
      await sleep(intervalMs, undefined, { signal: call.signal });
    } catch {
      return; // the call has ended
    }
    const volumesOnNodes = await queueEach(call, everyVolumeOnNode(view), (key) => queue.addInBackground(key));
    call.log.info("stale cleanup queued every volume on every node", { volumesOnNodes });
  }
}

/** SC-5. Resolves after as many turns of the event loop as a large cluster needs. Returns how many were queued. */
async function queueEach(
  call: Call,
  keys: Iterable<VolumeOnNodeKey | undefined>,
  add: (key: VolumeOnNodeKey) => void,
): Promise<number> {
  const turn = new TurnLimit();
  let count = 0;
  for (const key of keys) {
    if (call.signal.aborted) break;
    if (key !== undefined) {
      add(key);
      count += 1;
    }
    await turn.pause();
  }
  return count;
}

/**
 * Each once, unless objects change meanwhile; those queue their volumes on nodes themselves. Almost every one has an attachment, so the
 * others are compared with the attachments instead of with a set of all. undefined for an object that adds none, so that the caller
 * can pause there, too.
 */
export function* everyVolumeOnNode(view: View): Generator<VolumeOnNodeKey | undefined> {
  const { attachments, mountpointPods, workloads } = view;
  for (const attachment of attachments.values()) {
    const key = volumeOnNodeOf(attachment);
    const isFirst =
      attachments.count("volumeOnNode", key) === 1 || attachments.by("volumeOnNode", key)[0] === attachment;
    yield isFirst ? key : undefined;
  }
  for (const pod of mountpointPods.values()) {
    const key = volumeOnNodeKey(pod);
    yield attachments.count("volumeOnNode", key) === 0 ? key : undefined;
  }
  for (const workload of workloads.values()) {
    const keys = volumesOnNodeOf(view, workload);
    if (keys.length === 0) yield undefined;
    for (const key of keys) {
      const isCounted = attachments.count("volumeOnNode", key) + mountpointPods.count("volumeOnNode", key) > 0;
      yield isCounted ? undefined : key;
    }
  }
}

/**
 * Volumes of workloads that no attachment of the volume on the node lists. kubelet holds up the start of these workloads, so at the beginning
 * of a term they are reconciled before those that most probably are as they should be. undefined for each of the others.
 */
function* waitedFor(view: View): Generator<VolumeOnNodeKey | undefined> {
  for (const workload of view.workloads.values()) {
    const listed = new Set(view.attachments.by("workload", workload.uid).map(volumeOnNodeOf));
    const keys = volumesOnNodeOf(view, workload);
    if (keys.length === 0) yield undefined;
    for (const key of keys) yield listed.has(key) ? undefined : key;
  }
}
