import { MountRecords, type RecordStorage } from "./mount-records.ts";
import { PendingHeals } from "./pending-heals.ts";

/** What the node plugin must know after a restart. */
export interface NodeRecords {
  readonly mounts: MountRecords;
  readonly pendingHeals: PendingHeals;
}

export function nodeRecords(storage: RecordStorage): NodeRecords {
  return { mounts: new MountRecords(storage), pendingHeals: new PendingHeals(storage) };
}
