/** Which volumes on nodes to reconcile after a change in the view. */
import type { PvName } from "../../core/names.ts";
import type { Change } from "../../kube/watch/store.ts";
import { type VolumeOnNodeKey, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import { type View, volumeOnNodeOf, volumesOnNodeOf, volumesWith } from "./view.ts";
import { WhereUsed } from "./where-used.ts";

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
    view.waitingPods.subscribe((change) =>
      enqueue(both(change, ({ name }) => view.attachments.by("warmPod", name).map(volumeOnNodeOf))),
    ),
  );
  stack.use(
    view.attachments.subscribe((change) => enqueue(both(change, (attachment) => [volumeOnNodeOf(attachment)]))),
  );
  const used = stack.use(new WhereUsed(view, queue));
  stack.use(
    view.claims.subscribe(({ before, after }) => {
      for (const claim of [before, after]) if (claim !== undefined) used.add(claim.volume);
    }),
  );
  stack.use(
    view.volumes.subscribe((change) => {
      used.add(change.key as PvName);
      // The owners of workloads with another volume of the same handle get a warning.
      const handles = [change.before, change.after].flatMap((it) => (it && "volumeId" in it ? [it.volumeId] : []));
      const sameHandle = handles.flatMap((handle) => volumesWith(view, handle));
      for (const name of new Set(sameHandle)) if (name !== change.key) used.add(name);
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
