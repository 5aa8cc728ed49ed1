/** Which places to look at again when something has changed. */
import type { PvName } from "../../core/names.ts";
import type { Change } from "../../kube/watch/store.ts";
import { type VolumeOnNodeKey, volumeOnNodeKey } from "../domain/volume-on-node.ts";
import { type View, volumeOnNodeOf, volumesOnNodeOf, volumesWith, workloadsWith } from "./view.ts";

/** From now on; a change of any of the objects that a decision looks at brings its place back. */
export function enqueueVolumesOnNodes(view: View, queue: { add(place: VolumeOnNodeKey): void }): Disposable {
  const note = (places: Iterable<VolumeOnNodeKey>) => {
    for (const place of new Set(places)) queue.add(place);
  };
  const stack = new DisposableStack();
  stack.use(
    view.workloads.subscribe((change) => {
      note(both(change, (workload) => volumesOnNodeOf(view, workload)));
      // Listed there, whatever its claims and volumes are by now.
      note(both(change, ({ uid }) => view.attachments.by("workload", uid).map(volumeOnNodeOf)));
    }),
  );
  stack.use(view.mountpointPods.subscribe((change) => note(both(change, (pod) => [volumeOnNodeKey(pod)]))));
  stack.use(view.attachments.subscribe((change) => note(both(change, (attachment) => [volumeOnNodeOf(attachment)]))));
  stack.use(view.claims.subscribe((change) => note(both(change, ({ volume }) => whereUsed(view, volume)))));
  stack.use(
    view.volumes.subscribe((change) => {
      note(whereUsed(view, change.key as PvName));
      // Whoever has the same handle is to be told.
      const handles = [change.before, change.after].flatMap((it) => (it && "volumeId" in it ? [it.volumeId] : []));
      const duplicates = handles.flatMap((handle) => volumesWith(view, handle)).filter((name) => name !== change.key);
      note(duplicates.flatMap((name) => whereUsed(view, name)));
    }),
  );
  return stack;
}

/** A change may be from one object to another of the same name. */
function both<Kept>(
  { before, after }: Change<Kept>,
  places: (kept: Kept) => readonly VolumeOnNodeKey[],
): VolumeOnNodeKey[] {
  return [before, after].flatMap((kept) => (kept === undefined ? [] : places(kept)));
}

/** Wherever this volume is used. */
function whereUsed(view: View, volume: PvName): readonly VolumeOnNodeKey[] {
  const used = workloadsWith(view, volume).flatMap((workload) => volumesOnNodeOf(view, workload));
  return [...used, ...view.attachments.by("volume", volume).map(volumeOnNodeOf)];
}
