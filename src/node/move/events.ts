/** Emits events on workloads that were moved to another Mountpoint Pod, or could not be. */
import { DriverError } from "../../core/errors.ts";
import { eventCatalogue } from "../../core/failures/event-catalogue.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { describeError } from "../../runtime/log.ts";
import { emitOnUsers } from "../heal/emit-on-users.ts";
import type { MountRecords } from "../records/mount-records.ts";
import type { MoveReports } from "./move.ts";

export function moveEvents(records: MountRecords, events: Pick<EventRecorder, "record">): MoveReports {
  return {
    moved: (call, { from, to, targets, hadGap }) => {
      const gap = hadGap ? "; on this kernel, older than 6.5, its paths were without it for a moment" : "";
      const message = `the volume was moved from Mountpoint Pod ${from} to ${to}${gap}`;
      emitOnUsers(call, { records, events }, targets, { reason: "VolumeMoved", message });
    },
    lost: (call, { to, targets, mountPoint, because }) => {
      const message = `the volume moves to Mountpoint Pod ${to}, and a container has lost it at ${mountPoint}: ${because}`;
      const fix = "Restart the Pod: a new container gets the mount of the new Mountpoint Pod.";
      emitOnUsers(call, { records, events }, targets, { reason: "VolumeNotMoved", message, fix });
    },
    failed: (call, { from, targets, because }) => {
      const { hint = eventCatalogue.VolumeNotMoved.fix } = because instanceof DriverError ? because : {};
      const message = `the volume stays on Mountpoint Pod ${from}, and works as before: ${describeError(because)}`;
      emitOnUsers(call, { records, events }, targets, { reason: "VolumeNotMoved", message, fix: hint });
    },
  };
}
