/**
 * The kernel's control of FUSE connections: the only way to free whoever waits for a server that will never answer.
 * It shows every connection of the machine, so who calls names one of his own.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isErrno } from "../../runtime/errno.ts";
import { MS_NODEV, MS_NOEXEC, MS_NOSUID } from "../kernel-abi.ts";
import { syscall } from "../native.ts";
import { unmount } from "./fuse.ts";

/** Empty in sysfs, wherever the kernel has FUSE. In a container sysfs is its own: nobody else sees what is mounted here. */
const place = "/sys/fs/fuse/connections";

/**
 * Ends the connection of the mount with this minor number: every request fails, those under way and those to come, and
 * unfinished uploads are lost.
 */
export function abortConnection(minor: number): void {
  using _connections = mountConnections();
  writeFileSync(`${place}/${minor}/abort`, "1");
}

/** Minor numbers of the mounts whose server owes an answer to somebody, whether it has read the request or not. */
export function connectionsWithRequests(): ReadonlySet<number> {
  using _connections = mountConnections();
  return new Set(readdirSync(place).filter(owesAnswers).map(Number));
}

function owesAnswers(minor: string): boolean {
  try {
    return Number(readFileSync(`${place}/${minor}/waiting`, "utf8")) > 0;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false; // unmounted a moment ago
    throw error;
  }
}

/** For a moment, and on top of what may be there already: it is the same file system however often it is mounted. */
function mountConnections(): Disposable {
  syscall("mount", "fusectl", place, "fusectl", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  return { [Symbol.dispose]: () => void unmount(place) };
}
