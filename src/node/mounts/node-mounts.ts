import type { Kernel } from "./kernel.ts";
import { MountTable } from "./mount-table.ts";

/** The mounts of this node, as all rooms read and change them. */
export interface NodeMounts {
  readonly kubeletDir: string;
  readonly kernel: Kernel;
  /** Reads the mount table as it is now. */
  readonly table: () => MountTable;
  /** As it was a second ago at most: for reports, which come for many volumes at once. */
  readonly recentTable: () => MountTable;
}

const recentMs = 1000;

export function nodeMounts(kubeletDir: string, kernel: Kernel): NodeMounts {
  const table = () => new MountTable(kernel.mounts(), kubeletDir);
  let recent: { readonly table: MountTable; readonly readAtMs: number } | undefined;
  const recentTable = () => {
    if (recent === undefined || performance.now() - recent.readAtMs > recentMs) {
      recent = { table: table(), readAtMs: performance.now() };
    }
    return recent.table;
  };
  return { kubeletDir, kernel, table, recentTable };
}
