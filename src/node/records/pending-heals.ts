/**
 * Heals that are not complete. They are stored together with the mount records: once kubelet's mounts are healed, the node plugin's own
 * mount table no longer shows a container that still has the dead mount, so a restarted node plugin would not look for it.
 */

import type { PodName } from "../../core/names.ts";
import { type DeviceId, fuseDevice, fuseMinor } from "../../linux/device-id.ts";
import type { RecordStorage } from "./mount-records.ts";

export interface PendingHeal {
  readonly deviceId: DeviceId;
  readonly mountpointPod: PodName | undefined;
  readonly since: Date;
  /** Targets of the workloads that wait for the heal. */
  readonly targets: readonly string[];
}

type DeadMount = Pick<PendingHeal, "deviceId" | "mountpointPod">;

/** File name prefix. Earlier versions wrote it, too, so it must not change. */
const prefix = "owed-";

export class PendingHeals {
  readonly #storage: RecordStorage;
  readonly #texts = new Map<string, string>();

  constructor(storage: RecordStorage) {
    this.#storage = storage;
    for (const [name, text] of storage.all()) if (name.startsWith(prefix)) this.#texts.set(name, text);
  }

  add({ deviceId, mountpointPod, since, targets }: PendingHeal): void {
    const text = JSON.stringify({ minor: fuseMinor(deviceId), mountpointPod, since, targets });
    const name = nameOf(deviceId);
    if (this.#texts.get(name) === text) return;
    this.#texts.set(name, text);
    this.#storage.write(name, text);
  }

  /** The heal is complete, or no workload needs it any more. */
  remove(deviceId: DeviceId): void {
    const name = nameOf(deviceId);
    if (this.#texts.delete(name)) this.#storage.remove(name);
  }

  /** Targets of a dead device that an earlier attempt, or an earlier node plugin, did not heal completely. */
  targetsOf(dead: DeadMount): readonly string[] {
    return this.#find(dead)?.targets ?? [];
  }

  sinceOf(dead: DeadMount): Date | undefined {
    return this.#find(dead)?.since;
  }

  #find(dead: DeadMount): PendingHeal | undefined {
    // The kernel may have given the minor number to a mount of another Mountpoint Pod meanwhile.
    const isSame = ({ deviceId, mountpointPod }: PendingHeal) =>
      deviceId === dead.deviceId && mountpointPod === dead.mountpointPod;
    return this.all.find(isSame);
  }

  get all(): readonly PendingHeal[] {
    return [...this.#texts.values()].flatMap((text) => parseHeal(text) ?? []);
  }
}

/** The format that earlier versions wrote, too. */
interface Stored {
  readonly minor: number;
  readonly mountpointPod?: PodName;
  readonly since: string;
  readonly targets: readonly string[];
}

function nameOf(deviceId: DeviceId): string {
  return `${prefix}${fuseMinor(deviceId)}`;
}

/** undefined for a text that another version wrote in another format. */
function parseHeal(text: string): PendingHeal | undefined {
  try {
    const { minor, mountpointPod, since, targets } = JSON.parse(text) as Stored;
    return Array.isArray(targets) && Number.isInteger(minor)
      ? { deviceId: fuseDevice(minor), mountpointPod, since: new Date(since), targets }
      : undefined;
  } catch {
    return undefined;
  }
}
