/**
 * How much one Pod may cost when its dead mounts are replaced. A container can make mount namespaces and mounts in them at
 * will, in a user namespace also without rights: above these limits nothing is done for it, and its users are told.
 */
import type { TableLimits } from "../../linux/read-table.ts";

/** A node with 250 Pods has some thousand mounts, and each table that shows all of them is below a megabyte. */
export const tableLimits: TableLimits = { mounts: 10_000, bytes: 2 * 2 ** 20 };
/** A Pod has one per container, and one or two more while kubelet runs a command in it. */
const namespacesPerPod = 64;
/** Each is a place where a container has the volume or a part of it. */
const replacementsPerPod = 128;

export class PodAllowance {
  #namespaces = 0;
  #replacements = 0;

  /** One more mount namespace. Gives why not, and that only once. */
  enter(): { readonly isAllowed: boolean; readonly complaint?: string } {
    this.#namespaces += 1;
    if (this.#namespaces <= namespacesPerPod) return { isAllowed: true };
    if (this.#namespaces > namespacesPerPod + 1) return { isAllowed: false };
    return { isAllowed: false, complaint: `the Pod has more than ${namespacesPerPod} mount namespaces` };
  }

  /** So many more replacements; the reason if that is too many. */
  replace(places: number): string | undefined {
    this.#replacements += places;
    if (this.#replacements <= replacementsPerPod) return undefined;
    return `the Pod has more than ${replacementsPerPod} mounts of the volume`;
  }
}

export const tableTooLarge = `the mount table has more than ${tableLimits.mounts} mounts, or more than ${tableLimits.bytes} bytes`;
