/** What the view has about one workload that reserves headroom, and which changes queue the workload. */
import type { PodUid, PvName } from "../../core/names.ts";
import { keyOf } from "../../kube/watch/store.ts";
import type { Reservation } from "../domain/reservation.ts";
import type { View } from "../observe/view.ts";
import type { ClaimedVolume, Observed } from "./decide.ts";

export function observe(view: View, workload: PodUid, enabled: boolean, now: Date): Observed {
  const [reservation] = view.reservations.by("uid", workload);
  return {
    now,
    enabled,
    reservation,
    volumes: reservation === undefined ? [] : volumesOf(view, reservation),
    headroomPods: view.headroomPods.by("workload", workload),
  };
}

/** Every workload that reserves headroom, and every one that has headroom Pods. */
export function everyWorkload(view: View): ReadonlySet<PodUid> {
  const reserving = [...view.reservations.values()].map(({ uid }) => uid);
  const having = [...view.headroomPods.values()].map(({ workload }) => workload);
  return new Set([...reserving, ...having]);
}

/** Until it is disposed, queues a workload after each change of an object that its decision reads. */
export function enqueueWorkloads(view: View, queue: { add(workload: PodUid): void }): Disposable {
  const enqueueClaim = (claim: { readonly namespace: string; readonly name: string }) => {
    for (const { uid } of view.reservations.by("claim", keyOf(claim))) queue.add(uid);
  };
  const stack = new DisposableStack();
  stack.use(
    view.reservations.subscribe(({ before, after }) => {
      for (const seen of [before, after]) if (seen !== undefined) queue.add(seen.uid);
    }),
  );
  stack.use(
    view.headroomPods.subscribe(({ before, after }) => {
      for (const seen of [before, after]) if (seen !== undefined) queue.add(seen.workload);
    }),
  );
  stack.use(
    view.claims.subscribe(({ before, after }) => {
      for (const seen of [before, after]) if (seen !== undefined) enqueueClaim(seen);
    }),
  );
  stack.use(view.volumes.subscribe(({ key }) => view.claims.by("volume", key as PvName).forEach(enqueueClaim)));
  return stack;
}

function volumesOf(view: View, { namespace, claims }: Reservation): readonly ClaimedVolume[] {
  return claims.map((claim) => {
    const bound = view.claims.get(keyOf({ namespace, name: claim }));
    if (bound === undefined) return { claim, volume: "unbound" };
    return { claim, volume: view.volumes.get(bound.volume) ?? "foreign" };
  });
}
