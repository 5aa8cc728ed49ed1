/**
 * How much one Pod may cost when its dead mounts are replaced. A container can make mount namespaces and mounts in them at
 * will, in a user namespace also without rights: above these limits nothing is done for it, and its users are told.
 */
import type { TableLimits } from "../../linux/mounts/read-table.ts";

/** A node with 250 Pods has some thousand mounts, and each table that shows all of them is below a megabyte. */
export const tableLimits: TableLimits = { mounts: 10_000, bytes: 2 * 2 ** 20 };
/** A Pod has one per container, and one or two more while kubelet runs a command in it. Each takes a thread that enters it. */
const namespacesPerPod = 64;
/** Of the tables of namespaces that are not entered: those of a few thousand containers. */
const unenteredBytesPerPod = 32 * 2 ** 20;
/** Each is a place where a container has the volume or a part of it. */
const replacementsPerPod = 128;

export class PodAllowance {
  #namespaces = 0;
  #replacements = 0;
  #unenteredBytes = 0;
  #hasComplained = false;

  /** One more mount namespace; false: it is not to be entered. */
  enter(): boolean {
    this.#namespaces += 1;
    return this.#namespaces <= namespacesPerPod;
  }

  /** For the table of a namespace that is not entered; undefined: none is to be read any more. */
  get unentered(): TableLimits | undefined {
    const bytes = Math.min(tableLimits.bytes, unenteredBytesPerPod - this.#unenteredBytes);
    return this.#hasComplained || bytes <= 0 ? undefined : { mounts: tableLimits.mounts, bytes };
  }

  hasRead(bytes: number): void {
    this.#unenteredBytes += bytes;
  }

  /** Of a namespace that is not entered and may have the volume. Gives the reason only once. */
  tooMany(): string | undefined {
    if (this.#hasComplained) return undefined;
    this.#hasComplained = true;
    return `the Pod has more than ${namespacesPerPod} mount namespaces`;
  }

  /** So many more replacements; the reason if that is too many. */
  replace(places: number): string | undefined {
    this.#replacements += places;
    if (this.#replacements <= replacementsPerPod) return undefined;
    return `the Pod has more than ${replacementsPerPod} mounts of the volume`;
  }
}

export const tableTooLarge = `the mount table has more than ${tableLimits.mounts} mounts, or more than ${tableLimits.bytes} bytes`;
