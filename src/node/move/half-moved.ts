/**
 * Containers get the new mount before kubelet's mounts are replaced, and the node plugin's own mount table shows only the latter. If node plugin
 * and new mount-s3 both end in between, nothing would lead the next node plugin to the dead mount in the containers. It is therefore stored as
 * a pending heal as long as some containers may have it already. The next node plugin drops it if the mount works.
 */
import type { PodName } from "../../core/names.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import type { Swapped } from "../swap/carry-out.ts";
import type { MoveRoom } from "./move-room.ts";
import type { Move } from "./plan-moves.ts";

export async function rememberedWhile(
  { mounts, records, sources }: MoveRoom,
  { to, targets }: Move,
  replace: () => Promise<Swapped>,
): Promise<Swapped> {
  const { pendingHeals } = records;
  const deviceId = mounts.table().source(to)?.deviceId;
  if (deviceId === undefined) return await replace();
  const earlier = pendingHeals.targetsOf({ deviceId, mountpointPod: to });
  pendingHeals.add({ deviceId, mountpointPod: to, since: new Date(), targets: [...new Set([...earlier, ...targets])] });
  const swapped = await replace();
  if (isWhole(swapped, earlier) && !sources.registry.dead.isKnown(deviceId)) forget(records, { deviceId, to }, targets);
  return swapped;
}

/** After the last move to a Mountpoint Pod: whoever still has a former mount has ended. */
export function forgetHalfMoved({ mounts, records, sources }: MoveRoom, to: PodName): void {
  const deviceId = mounts.table().source(to)?.deviceId;
  if (deviceId === undefined || sources.registry.dead.isKnown(deviceId)) return;
  forget(records, { deviceId, to }, records.pendingHeals.targetsOf({ deviceId, mountpointPod: to }));
}

/** Workloads of several former Mountpoint Pods may move to the same one. */
function forget(
  { pendingHeals }: MoveRoom["records"],
  { deviceId, to }: { readonly deviceId: DeviceId; readonly to: PodName },
  targets: readonly string[],
): void {
  const heal = { deviceId, mountpointPod: to };
  const left = pendingHeals.targetsOf(heal).filter((target) => !targets.includes(target));
  const since = pendingHeals.sinceOf(heal);
  if (since === undefined) return;
  if (left.length === 0) pendingHeals.remove(deviceId);
  else pendingHeals.add({ ...heal, since, targets: left });
}

/** Whether no container can have the new mount while kubelet's mount of its Pod is still the former one. */
function isWhole({ replaced, failures }: Swapped, earlier: readonly string[]): boolean {
  const kept = failures.filter(({ isLost }) => isLost !== true);
  return kept.length === 0 || (replaced === 0 && earlier.length === 0);
}
