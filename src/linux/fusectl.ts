/**
 * The kernel's control of FUSE connections: the only way to free whoever waits for a server that will never answer.
 * It shows every connection of the machine, so who calls names one of his own.
 */
import { writeFileSync } from "node:fs";
import { unmount } from "./fuse.ts";
import { syscall } from "./native.ts";

/** Empty in sysfs, wherever the kernel has FUSE. In a container sysfs is its own: nobody else sees what is mounted here. */
const place = "/sys/fs/fuse/connections";

const MS_NOSUID_NODEV_NOEXEC = 0x2 | 0x4 | 0x8;

/**
 * Ends the connection of the mount with this minor number: every request fails, those under way and those to come, and
 * unfinished uploads are lost.
 */
export function abortConnection(minor: number): void {
  using undo = new DisposableStack();
  // For a moment, and on top of what may be there already: it is the same file system however often it is mounted.
  syscall("mount", "fusectl", place, "fusectl", MS_NOSUID_NODEV_NOEXEC);
  undo.defer(() => unmount(place));
  writeFileSync(`${place}/${minor}/abort`, "1");
}
