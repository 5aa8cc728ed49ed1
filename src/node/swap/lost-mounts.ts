import type { DeviceId } from "../../linux/device-id.ts";
import type { MountNamespace } from "../../linux/mounts/mount-namespaces.ts";
import type { SwapFailure } from "./carry-out.ts";

export interface LostMount extends Omit<SwapFailure, "workload"> {
  /** The device that was mounted at the path. */
  readonly deviceId: DeviceId;
}

interface Entry {
  /** Processes that were in the namespace at the last `keepOnly`. */
  readonly processes: ReadonlySet<string>;
  readonly mounts: readonly LostMount[];
}

/** A container may have tens of thousands of processes; the first ones are usually its oldest. */
const trackedProcesses = 64;

/**
 * Mount points in other namespaces from which the dead mount was detached and where the new one could not be mounted. No mount
 * table contains them any more, and only a new container gets the volume there.
 *
 * The kernel reuses the number of a mount namespace that has ended. A namespace counts as the same only if a process from the
 * last check is still in it. Holding a descriptor of the namespace instead would keep all mounts of a terminated container.
 */
export class LostMounts {
  readonly #entries = new Map<string, Entry>();
  readonly #startOf: (pid: number) => string | undefined;

  /** `startOf`: start time of a process; undefined if it has ended. */
  constructor(startOf: (pid: number) => string | undefined) {
    this.#startOf = startOf;
  }

  /** Drops entries of namespaces that do not exist any more. Expects all current namespaces of the machine. */
  keepOnly(namespaces: readonly MountNamespace[]): void {
    const now = new Map(namespaces.map((namespace) => [namespace.id, namespace]));
    for (const [id, { processes, mounts }] of this.#entries) {
      const namespace = now.get(id);
      const still = namespace === undefined ? new Set<string>() : this.#processesIn(namespace);
      const isSame = [...still].some((process) => processes.has(process));
      if (isSame) this.#entries.set(id, { processes: still, mounts });
      else this.#entries.delete(id);
    }
  }

  /** Assumes that `keepOnly` has dropped an earlier namespace with the same number. */
  add(namespace: MountNamespace, lost: LostMount): void {
    const { id } = namespace;
    const { processes, mounts } = this.#entries.get(id) ?? { processes: this.#processesIn(namespace), mounts: [] };
    this.#entries.set(id, { processes, mounts: [...mounts, lost] });
  }

  /** Nothing keeps a device that still served: once it is moved away from, the kernel may give its number to another file system. */
  forget(deviceId: DeviceId): void {
    for (const [id, { processes, mounts }] of this.#entries) {
      this.#entries.set(id, { processes, mounts: mounts.filter((lost) => lost.deviceId !== deviceId) });
    }
  }

  in({ id }: MountNamespace, deviceId: DeviceId): readonly LostMount[] {
    return (this.#entries.get(id)?.mounts ?? []).filter((lost) => lost.deviceId === deviceId);
  }

  #processesIn({ pids }: MountNamespace): ReadonlySet<string> {
    const started = pids.slice(0, trackedProcesses).flatMap((pid) => {
      const start = this.#startOf(pid);
      return start === undefined ? [] : [`${pid} ${start}`];
    });
    return new Set(started);
  }
}
