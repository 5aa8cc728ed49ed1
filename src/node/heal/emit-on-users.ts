import type { Happening } from "../../kube/event-writer.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import type { MountRecords } from "../records/mount-records.ts";

interface Needed {
  readonly records: MountRecords;
  readonly events: Pick<EventRecorder, "record">;
}

/** Emits an event on the workload of each target. Workloads whose name is not known, as under manifests of 2.x, get none. */
export function emitOnUsers(
  call: Call,
  { records, events }: Needed,
  targets: readonly string[],
  happening: Happening,
): void {
  const users = targets.flatMap((target) => records.userAt(target) ?? []).filter(({ name }) => name !== "");
  for (const metadata of users) events.record(call, { kind: kinds.pods, metadata }, happening);
}
