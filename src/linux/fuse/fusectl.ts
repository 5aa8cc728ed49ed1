/**
 * The kernel's control file system for FUSE connections. An abort is the only means to unblock processes that wait for a server
 * which never answers. fusectl shows all connections of the machine: callers must pass devices of their own mounts only.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isErrno } from "../../runtime/errno.ts";
import { type DeviceId, fuseDevice, fuseMinor } from "../device-id.ts";
import { MS_NODEV, MS_NOEXEC, MS_NOSUID } from "../kernel-abi.ts";
import { syscall } from "../native.ts";
import { unmount } from "./fuse.ts";

/** An empty directory of sysfs on every kernel with FUSE. A container has its own sysfs mount: mounts here stay in the container. */
const connectionsDir = "/sys/fs/fuse/connections";

/**
 * Aborts the connection of the mount with this device. Guarantees that all waiting and future requests fail. Unfinished
 * uploads are lost.
 */
export function abortConnection(deviceId: DeviceId): void {
  using _connections = mountConnections();
  writeFileSync(`${connectionsDir}/${fuseMinor(deviceId)}/abort`, "1");
}

/** Devices of the mounts with unanswered requests, whether or not the server has read them. */
export function connectionsWithRequests(): ReadonlySet<DeviceId> {
  using _connections = mountConnections();
  return new Set(
    readdirSync(connectionsDir)
      .filter(hasRequests)
      .map((minor) => fuseDevice(Number(minor))),
  );
}

function hasRequests(minor: string): boolean {
  try {
    return Number(readFileSync(`${connectionsDir}/${minor}/waiting`, "utf8")) > 0;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false; // unmounted since readdir
    throw error;
  }
}

/** Mounts fusectl until the scope ends. An existing mount does not matter: all mounts of fusectl show the same file system. */
function mountConnections(): Disposable {
  syscall("mount", "fusectl", connectionsDir, "fusectl", MS_NOSUID | MS_NODEV | MS_NOEXEC);
  return { [Symbol.dispose]: () => void unmount(connectionsDir) };
}
