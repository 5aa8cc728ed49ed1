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
  addInBackground(key: VolumeOnNodeKey): void;
}

/** Ends when the call does. Operators search the log for "cleanup" (contract 1.11). */
export async function sweep(call: Call, view: View, queue: Queue, intervalMs: number): Promise<void> {
  await queueEverything(call, view, queue);
  while (!call.signal.aborted) {
    try {
      await sleep(intervalMs, undefined, { signal: call.signal });
    } catch {
      return; // the call has ended
    }
    const volumesOnNodes = await queueEverything(call, view, queue);
    call.log.info("stale cleanup queued every volume on every node", { volumesOnNodes });
  }
}

/** SC-5. Resolves after as many turns of the event loop as a large cluster needs. Returns how many were queued. */
async function queueEverything(call: Call, view: View, queue: Queue): Promise<number> {
  const turn = new TurnLimit();
  let count = 0;
  for (const key of everyVolumeOnNode(view)) {
    if (call.signal.aborted) break;
    if (key !== undefined) {
      queue.addInBackground(key);
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
function* everyVolumeOnNode(view: View): Generator<VolumeOnNodeKey | undefined> {
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
    for (const key of volumesOnNodeOf(view, workload)) {
      const isCounted = attachments.count("volumeOnNode", key) + mountpointPods.count("volumeOnNode", key) > 0;
      yield isCounted ? undefined : key;
    }
  }
}
