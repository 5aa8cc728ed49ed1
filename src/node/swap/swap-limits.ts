/**
 * Limits on the work for one Pod when its dead mounts are replaced. A container can create mount namespaces, and mounts in them,
 * without limit; in a user namespace it needs no privileges. Above these limits the Pod is not healed and gets an event.
 */
import type { TableLimits } from "../../linux/mounts/read-table.ts";

/** A node with 250 Pods has some thousand mounts, and a table that shows all of them is smaller than a megabyte. */
export const tableLimits: TableLimits = { mounts: 10_000, bytes: 2 * 2 ** 20 };
/** A Pod has one mount namespace per container, and one or two more while kubelet executes a command. Entering each takes a thread. */
const namespacesPerPod = 64;
/** Limit for the mount tables of namespaces that are not entered: the tables of a few thousand containers. */
const unenteredBytesPerPod = 32 * 2 ** 20;
/** Each replacement is a mount of the volume, or of a part of it, in a container. */
const replacementsPerPod = 128;

export class PodAllowance {
  #namespaces = 0;
  #replacements = 0;
  #unenteredBytes = 0;
  #hasReported = false;

  /** Counts one more mount namespace. False: the caller must not enter it. */
  enter(): boolean {
    this.#namespaces += 1;
    return this.#namespaces <= namespacesPerPod;
  }

  /** Limits for the table of a namespace that is not entered; undefined: the caller must not read any more. */
  get unentered(): TableLimits | undefined {
    const bytes = Math.min(tableLimits.bytes, unenteredBytesPerPod - this.#unenteredBytes);
    return this.#hasReported || bytes <= 0 ? undefined : { mounts: tableLimits.mounts, bytes };
  }

  hasRead(bytes: number): void {
    this.#unenteredBytes += bytes;
  }

  /** The reason for a namespace that is not entered and may have the volume. Only the first call returns it. */
  tooMany(): string | undefined {
    if (this.#hasReported) return undefined;
    this.#hasReported = true;
    return `the Pod has more than ${namespacesPerPod} mount namespaces`;
  }

  /** Counts replacements. Returns the reason if there are too many. */
  replace(mounts: number): string | undefined {
    this.#replacements += mounts;
    if (this.#replacements <= replacementsPerPod) return undefined;
    return `the Pod has more than ${replacementsPerPod} mounts of the volume`;
  }
}

export const tableTooLarge = `the mount table has more than ${tableLimits.mounts} mounts, or more than ${tableLimits.bytes} bytes`;
