/** Resumes the pending heals of an earlier node plugin. */

import { DriverError } from "../../core/errors.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import { isOurs, workloadAt } from "../mounts/mount-table.ts";
import type { PendingHeal } from "../records/pending-heals.ts";
import type { DeadDevice } from "../source/dead-devices.ts";
import { stillPublished } from "./bring-back.ts";
import type { HealRoom } from "./heal-room.ts";
import { pause } from "./pause.ts";

const probeLimitMs = 5000;
/** Limit for all pending heals together: paths in containers may hang, and new deaths are noticed only after that. */
const resumeLimitMs = 20_000;

/** A heal for which it is unknown whether a container still has the dead mount. It stays pending. */
interface Undecided {
  readonly heal: PendingHeal;
  readonly because: string;
}

/** Checks each heal once: heals a mount that is still dead, and removes the heal of a mount that is gone. Returns the undecided. */
export async function resumePendingHeals(
  call: Call,
  room: HealRoom,
  heals: readonly PendingHeal[],
): Promise<readonly Undecided[]> {
  using limited = deadline(call, resumeLimitMs, "pending heals");
  const checks = heals.map(async (heal) => {
    try {
      return (await resume(limited, room, heal)) ?? [];
    } catch (error) {
      return { heal, because: describeError(error) };
    }
  });
  return (await Promise.all(checks)).flat();
}

/** Checks undecided heals again and again, and reports each time. Resolves when all are decided or the call ends. */
export async function retryUndecided(
  call: Call,
  room: HealRoom,
  undecided: readonly Undecided[],
  report: (delayed: {
    readonly dead: DeadDevice;
    readonly targets: readonly string[];
    readonly because: Error;
  }) => void,
): Promise<void> {
  let remaining = undecided;
  for (let failures = 0; remaining.length > 0 && !call.signal.aborted; failures += 1) {
    const { nextWake } = room.sources.registry.dead;
    for (const { heal, because } of remaining) {
      report({ dead: deadOf(heal), targets: stillPublished(room, heal.targets), because: unknown(because) });
    }
    await pause(call, nextWake, failures);
    if (call.signal.aborted) return;
    remaining = await resumePendingHeals(
      call,
      room,
      remaining.map(({ heal }) => heal),
    );
  }
}

function unknown(because: string): DriverError {
  return new DriverError("notReady", `cannot tell whether a container still has the dead mount: ${because}`, {
    hint: "Restart the Pod: a new container gets the mount that works.",
  });
}

function deadOf({ deviceId, mountpointPod, since }: PendingHeal): DeadDevice {
  return { deviceId, mountpointPod, since };
}

/**
 * No process held the dead file system while the node plugin was down, so the kernel may have reused its minor number. The heal is
 * resumed only if a mount of the driver has that number, is dead and does not belong to another Mountpoint Pod.
 */
async function resume(call: Call, room: HealRoom, heal: PendingHeal): Promise<Undecided | undefined> {
  const { deviceId, mountpointPod, targets } = heal;
  using undo = new DisposableStack();
  const { pin, because } = await findDead(call, room, heal);
  if (pin !== undefined) undo.use(pin);
  // The device is being healed already.
  if (room.sources.registry.dead.isKnown(deviceId)) return undefined;
  if (pin !== undefined && !isOfAnother(room, heal)) {
    const fields = { deviceId, mountpointPod, targets: targets.length };
    call.log.info("goes on with a heal that was owed", fields);
    undo.move();
    // A heal of the same device may have ended since, and removed it.
    room.records.pendingHeals.add(heal);
    room.sources.registry.dead.resume(deadOf(heal), pin);
    return undefined;
  }
  const isWaitedFor = !isOfAnother(room, heal) && stillPublished(room, targets).length > 0;
  if (because !== undefined && isWaitedFor) return { heal, because };
  room.records.pendingHeals.remove(deviceId);
  return undefined;
}

interface Found {
  readonly pin?: Disposable | undefined;
  /** Without a pin: why the dead mount may be there all the same. */
  readonly because?: string | undefined;
  /** A move stores its new mount as a pending heal while only a part of the containers may have it. */
  readonly serves?: boolean;
}

/** Looks in the node plugin's own namespace, then in containers. Only containers of the pending targets' workloads matter. */
async function findDead(call: Call, room: HealRoom, heal: PendingHeal): Promise<Found> {
  const here = await findHere(call, room, heal);
  // Containers have the same connection: one that serves here is dead nowhere.
  if (here.pin !== undefined || here.serves === true) return here;
  const inside = await room.swapper?.holdDead(call, heal.deviceId);
  if (inside?.pin !== undefined) return { pin: inside.pin };
  const users = new Set(heal.targets.map((mountPoint) => workloadAt(room.mounts.kubeletDir, { mountPoint })));
  const unseen = inside?.unseen.find(({ workload }) => users.has(workload));
  return { because: unseen?.because ?? here.because };
}

async function findHere(call: Call, { mounts, sources }: HealRoom, { deviceId }: PendingHeal): Promise<Found> {
  const { kernel, table } = mounts;
  const mount = table().ofDevice(deviceId).find(isOurs);
  if (mount === undefined) return {};
  const health = await kernel.probe(call, mount.mountPoint, probeLimitMs);
  if (health === "hung") return { because: `the mount at ${mount.mountPoint} does not answer` };
  if (table().at(mount.mountPoint)?.deviceId !== deviceId) return {};
  if (health === "dead") return { pin: sources.registry.dead.pin(mount.mountPoint) };
  return { serves: health === "serving" };
}

function isOfAnother(room: HealRoom, { deviceId, mountpointPod }: PendingHeal): boolean {
  const mounts = room.mounts.table();
  const mount = mounts.ofDevice(deviceId).find(isOurs);
  const behind = mount && mounts.podBehind(mount);
  return behind !== undefined && behind !== mountpointPod;
}
