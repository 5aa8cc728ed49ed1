import { openSync, readlinkSync } from "node:fs";
import { Descriptor } from "../../linux/descriptor.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import type { MountNamespace } from "../../linux/mounts/mount-namespaces.ts";
import { parseMountsOfDevice } from "../../linux/mounts/mountinfo.ts";
import { readTable } from "../../linux/mounts/read-table.ts";
import { unlessGone } from "../../linux/unless-gone.ts";
import type { Call } from "../../runtime/call.ts";
import { countMounts, swapsInside } from "./plan-swaps.ts";
import type { PodAllowance } from "./swap-limits.ts";

/**
 * Whether a mount namespace that is not entered may have mounts of a dead device that need replacement. Only the mount table of a
 * process in the namespace's own root directory can rule that out: chroot hides mounts outside of the new root.
 */
export async function mayHold(
  call: Call,
  { proc, deviceId }: { readonly proc: string; readonly deviceId: DeviceId },
  { pids }: MountNamespace,
  allowance: PodAllowance,
): Promise<boolean> {
  for (const pid of pids) {
    const root = unlessGone(() => readlinkSync(`${proc}/${pid}/root`));
    if (root === undefined) continue;
    const limits = allowance.unentered;
    if (root !== "/" || limits === undefined) return true;
    using undo = new DisposableStack();
    const table = unlessGone(() => undo.use(new Descriptor(openSync(`${proc}/${pid}/mountinfo`, "r"))));
    if (table === undefined) continue;
    const text = await readTable(call, table, limits);
    allowance.hasRead(text?.length ?? limits.bytes);
    return text === undefined || countMounts(swapsInside(parseMountsOfDevice(text, deviceId), deviceId)) > 0;
  }
  return false; // all its processes have ended
}
