/** Goes on with the heals that an earlier node plugin owed. */

import { openPlace } from "../../linux/descriptor.ts";
import { mountAt, mountsOfFuse } from "../../linux/mountinfo.ts";
import type { Call } from "../../runtime/call.ts";
import { isOurs, mountpointPodBehind } from "../mount-table.ts";
import type { NodeParts } from "../node-parts.ts";
import type { OwedHeal } from "./owed-heals.ts";

const probeLimitMs = 5000;

/** Each is looked at once: what is still dead is healed, and the rest is forgotten. */
export async function resumeOwedHeals(call: Call, node: NodeParts): Promise<void> {
  await Promise.all(
    node.owed.all.map(async (owed) => {
      try {
        await resume(call, node, owed);
      } catch (error) {
        if (!call.signal.aborted) call.log.info("an owed heal could not be looked at", { minor: owed.minor, error });
      }
    }),
  );
}

/**
 * While the node plugin was away nobody held the dead file system, so its number may be another's by now. Only a mount of
 * ours that is dead counts, and none that another Mountpoint Pod serves.
 */
async function resume(call: Call, node: NodeParts, owed: OwedHeal): Promise<void> {
  const { minor, mountpointPod, since, targets } = owed;
  const pin = (await pinHere(call, node, owed)) ?? (await node.swapper?.holdDead(call, minor));
  if (pin === undefined || isOfAnother(node, owed)) {
    pin?.[Symbol.dispose]();
    if (!node.deadMounts.isKnown(minor)) node.owed.settle(minor);
    return;
  }
  call.log.info("goes on with a heal that was owed", {
    minor,
    formerMountpointPod: mountpointPod,
    targets: targets.length,
  });
  node.deadMounts.resume({ minor, mountpointPod, since, owed: targets }, pin);
}

async function pinHere(call: Call, { kernel }: NodeParts, { minor }: OwedHeal): Promise<Disposable | undefined> {
  const mount = mountsOfFuse(kernel.mounts(), minor).find(isOurs);
  if (mount === undefined) return undefined;
  if ((await kernel.probe(call, mount.mountPoint, probeLimitMs)) !== "dead") return undefined;
  const now = mountAt(kernel.mounts(), mount.mountPoint);
  return now?.minor === minor ? openPlace(mount.mountPoint) : undefined;
}

function isOfAnother({ kernel, config }: NodeParts, { minor, mountpointPod }: OwedHeal): boolean {
  const mounts = kernel.mounts();
  const mount = mountsOfFuse(mounts, minor).find(isOurs);
  const behind = mount && mountpointPodBehind(mounts, config.kubeletDir, mount);
  return behind !== undefined && behind !== mountpointPod;
}
