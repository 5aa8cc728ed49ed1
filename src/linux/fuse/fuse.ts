/** Mounts of a volume: the FUSE mount at the source and its bind mounts at targets. None of these calls waits for mount-s3. */
import { constants, openSync } from "node:fs";
import { mountDevice } from "../../core/names.ts";
import { isErrno } from "../../runtime/errno.ts";
import { Descriptor } from "../descriptor.ts";
import {
  MNT_DETACH,
  MS_BIND,
  MS_NOATIME,
  MS_NODEV,
  MS_NOSUID,
  MS_RDONLY,
  MS_REMOUNT,
  UMOUNT_NOFOLLOW,
} from "../kernel-abi.ts";
import { syscall, syscallFromNewPids } from "../native.ts";

const ourFlags = MS_NODEV | MS_NOSUID | MS_NOATIME;

/** Opens the device from which a FUSE server reads requests. The mount is dead when the last copy of the descriptor is closed. */
export function openFuse(): Descriptor {
  return new Descriptor(openSync("/dev/fuse", constants.O_RDWR));
}

/**
 * Mounts at `source` like 2.x. From here until mount-s3 answers, every access to the source blocks: the caller must send the
 * device to a mounter that is connected already. `rootmode` is the file type of the mount point, always a directory; otherwise
 * mount(2) returns ENOTDIR. mount-s3 sets `allow_other` with either of its allow flags, and the driver always passes one.
 */
export function mountFuse(device: Descriptor, source: string): void {
  syscall("mount", ...fuseMount(device, source));
}

/**
 * Like mountFuse, but from a new, empty pid namespace. With each request the kernel sends mount-s3 the id of the calling process in
 * the pid namespace that called mount(2), and 0 for processes outside of that namespace: here, for all processes.
 */
export function mountFuseHidingPids(device: Descriptor, source: string): void {
  syscallFromNewPids("mount", ...fuseMount(device, source));
}

function fuseMount(device: Descriptor, source: string) {
  const owner = `user_id=${process.geteuid?.() ?? 0},group_id=${process.getegid?.() ?? 0}`;
  const data = `fd=${device.fd},rootmode=40000,${owner},default_permissions,allow_other`;
  return [mountDevice, source, "fuse", ourFlags, data] as const;
}

/** Bind-mounts the source at `target`. Sends no request to mount-s3. */
export function bind(source: string, target: string): void {
  syscall("mount", source, target, undefined, MS_BIND);
}

/** A directory that exists on every system. It is used as a mount point for a moment only. */
const stagingDir = "/mnt";

/**
 * Bind-mounts the source read-only at `target`. Guarantees that the mount at `target` and its copy on the host are never writable;
 * other bind mounts of the source do not change.
 *
 * A remount of the target is not sufficient: mounts propagate to the host, changes of their flags do not, so the host's copy, from
 * which containers get theirs, would stay writable. A copy gets the flags that the original has when it is made. So the
 * bind mount becomes read-only at the staging directory first. A remount clears the flags that it does not repeat.
 */
export function bindReadOnly(source: string, target: string): void {
  using undo = new DisposableStack();
  bind(source, stagingDir);
  undo.defer(() => unmount(stagingDir));
  syscall("mount", undefined, stagingDir, undefined, MS_REMOUNT | MS_BIND | MS_RDONLY | ourFlags);
  bind(stagingDir, target);
}

/**
 * Detaches the top mount at `path`, even if its server hangs or processes use it. Returns false if there is no mount: EINVAL means
 * that the path is not a mount point.
 */
export function unmount(path: string): boolean {
  try {
    syscall("umount2", path, MNT_DETACH | UMOUNT_NOFOLLOW);
    return true;
  } catch (error) {
    if (isErrno(error, "EINVAL", "ENOENT")) return false;
    throw error;
  }
}
