import type { Kernel } from "./kernel.ts";
import { MountTable } from "./mount-table.ts";

/** The mounts of this node, as all rooms read and change them. */
export interface NodeMounts {
  readonly kubeletDir: string;
  readonly kernel: Kernel;
  /** Reads the mount table as it is now. */
  readonly table: () => MountTable;
}

export function nodeMounts(kubeletDir: string, kernel: Kernel): NodeMounts {
  return { kubeletDir, kernel, table: () => new MountTable(kernel.mounts(), kubeletDir) };
}
