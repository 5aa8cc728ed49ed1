/** Which volumes on nodes to reconcile after a change in the view. */
import type { PvName } from "../../core/names.ts";
import type { Change } from "../../kube/watch/store.ts";
import { type VolumeOnNodeKey, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import { type View, volumeOnNodeOf, volumesOnNodeOf, volumesWith, workloadsWith } from "./view.ts";

/** Until it is disposed, queues a volume on a node after each change of an object that its decision reads. */
export function enqueueVolumesOnNodes(view: View, queue: { add(key: VolumeOnNodeKey): void }): Disposable {
  const enqueue = (keys: Iterable<VolumeOnNodeKey>) => {
    for (const key of new Set(keys)) queue.add(key);
  };
  const stack = new DisposableStack();
  stack.use(
    view.workloads.subscribe((change) => {
      enqueue(both(change, (workload) => volumesOnNodeOf(view, workload)));
      // Attachments that list the workload, whatever its claims and volumes are now (LC-10).
      enqueue(both(change, ({ uid }) => view.attachments.by("workload", uid).map(volumeOnNodeOf)));
    }),
  );
  stack.use(view.mountpointPods.subscribe((change) => enqueue(both(change, (pod) => [volumeOnNodeKey(pod)]))));
  stack.use(
    view.attachments.subscribe((change) => enqueue(both(change, (attachment) => [volumeOnNodeOf(attachment)]))),
  );
  stack.use(view.claims.subscribe((change) => enqueue(both(change, ({ volume }) => whereUsed(view, volume)))));
  stack.use(
    view.volumes.subscribe((change) => {
      enqueue(whereUsed(view, change.key as PvName));
      // The owners of workloads with another volume of the same handle get a warning.
      const handles = [change.before, change.after].flatMap((it) => (it && "volumeId" in it ? [it.volumeId] : []));
      const sameHandle = handles.flatMap((handle) => volumesWith(view, handle)).filter((name) => name !== change.key);
      enqueue(sameHandle.flatMap((name) => whereUsed(view, name)));
    }),
  );
  return stack;
}

/** A change may replace an object with another of the same name. */
function both<Kept>(
  { before, after }: Change<Kept>,
  keysOf: (kept: Kept) => readonly VolumeOnNodeKey[],
): VolumeOnNodeKey[] {
  return [before, after].flatMap((kept) => (kept === undefined ? [] : keysOf(kept)));
}

/** This volume on every node with a workload or an attachment of it. */
function whereUsed(view: View, volume: PvName): readonly VolumeOnNodeKey[] {
  const used = workloadsWith(view, volume).flatMap((workload) => volumesOnNodeOf(view, workload));
  return [...used, ...view.attachments.by("volume", volume).map(volumeOnNodeOf)];
}
