import { DriverError } from "../../core/errors.ts";
import type { VolumeId } from "../../core/names.ts";
import { type Call, withFields } from "../../runtime/call.ts";
import { isErrno } from "../../runtime/errno.ts";
import { parseTargetPath, targetPath } from "../domain/target-path.ts";
import type { Kernel } from "../mounts/kernel.ts";
import type { PublishRoom } from "./publish-room.ts";

export interface UnpublishRequest {
  readonly volumeId: string;
  readonly targetPath: string;
}

/** Unmounts everything at the target, whatever its state. The unmount loop removes the source when no workload needs it. */
export function unpublish(call: Call, room: PublishRoom, request: UnpublishRequest): void {
  if (request.volumeId === "") throw new DriverError("invalid", "volume_id is required");
  if (request.targetPath === "") throw new DriverError("invalid", "target_path is required");
  const { kubeletDir } = room.mounts;
  const parsed = parseTargetPath(kubeletDir, request.targetPath);
  const { workload, persistentVolume: volume } = parsed;
  const about = withFields(call, { workload, volume, volumeId: request.volumeId });
  removeTarget(about, room, targetPath(kubeletDir, parsed));
  room.v1.files.remove({ workload: parsed.workload, volumeId: request.volumeId as VolumeId });
}

/** Removes a target and everything that is mounted there. A target that is gone is no error, a call in progress for it is one. */
export function removeTarget(call: Call, room: PublishRoom, target: string): void {
  const { kernel, table } = room.mounts;
  using _oneAtATime = room.inFlight.enter(target);
  const mounts = table();
  const mount = mounts.at(target);
  const mountpointPod = mount && mounts.podBehind(mount);
  // Mounts are stacked if a dead mount was covered by a living one.
  while (kernel.unmount(target));
  removeDirectory(kernel, target);
  room.records.dropUser(target);
  room.sources.registry.dead.wake();
  if (mount !== undefined) call.log.info("unpublished", { target, mountpointPod });
  if (mountpointPod !== undefined) room.sources.unmounts.add(mountpointPod);
}

/** CSI requires that the target is removed. A file in the directory was never uploaded, so the directory is removed only if empty. */
function removeDirectory(kernel: Kernel, target: string): void {
  try {
    kernel.removeDirectory(target);
  } catch (cause) {
    if (!isErrno(cause, "ENOTEMPTY")) throw cause;
    throw new DriverError("notReady", `${target} is not mounted and not empty: it holds files on the node's own disk`, {
      cause,
      hint: "Save what is needed on the node and empty the directory.",
    });
  }
}
