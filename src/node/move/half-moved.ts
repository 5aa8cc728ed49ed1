/**
 * Containers get the new mount before kubelet's mounts are replaced, and the node plugin's own mount table shows only the latter. If node plugin
 * and new mount-s3 both end in between, nothing would lead the next node plugin to the dead mount in the containers. It is therefore stored as
 * a pending heal as long as some containers may have it already. The next node plugin drops it if the mount works.
 */
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
  if (isWhole(swapped, earlier) && !sources.registry.dead.isKnown(deviceId)) pendingHeals.remove(deviceId);
  return swapped;
}

/** Whether no container can have the new mount while kubelet's mount of its Pod is still the former one. */
function isWhole({ replaced, failures }: Swapped, earlier: readonly string[]): boolean {
  const kept = failures.filter(({ isLost }) => isLost !== true);
  return kept.length === 0 || (replaced === 0 && earlier.length === 0);
}
