/** Mounts of a volume: the FUSE mount at the source, its binds at targets. None of these calls waits for mount-s3. */
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

/** The device that a FUSE server reads requests from. When its last copy is closed, the mount is dead. */
export function openFuse(): Descriptor {
  return new Descriptor(openSync("/dev/fuse", constants.O_RDWR));
}

/**
 * Mounts at `source` as 2.x does. From here until mount-s3 answers, every look into the source waits.
 * `rootmode` are the type bits of the mount point: always a directory, or mount(2) says ENOTDIR. `allow_other` comes
 * with either allow flag of mount-s3, and one of the two is always passed.
 */
export function mountFuse(device: Descriptor, source: string): void {
  syscall("mount", ...fuseMount(device, source));
}

/**
 * The same from a pid namespace that nobody else is in. The kernel tells mount-s3 the process behind each request by its
 * number in the namespace of the one who called mount(2), and 0 for processes outside of it: here, for all.
 */
export function mountFuseHidingPids(device: Descriptor, source: string): void {
  syscallFromNewPids("mount", ...fuseMount(device, source));
}

function fuseMount(device: Descriptor, source: string) {
  const owner = `user_id=${process.geteuid?.() ?? 0},group_id=${process.getegid?.() ?? 0}`;
  const data = `fd=${device.fd},rootmode=40000,${owner},default_permissions,allow_other`;
  return [mountDevice, source, "fuse", ourFlags, data] as const;
}

/** Shows the source at `target`, too. */
export function bind(source: string, target: string): void {
  syscall("mount", source, target, undefined, MS_BIND);
}

/** A directory that every system has for mounts that last a moment. */
const stagingDir = "/mnt";

/**
 * Shows the source at `target` read-only; other binds of the same source stay as they are.
 *
 * A remount of the target would not do: mounts propagate to the host, their flags do not, so the host's copy, from which
 * containers get theirs, would stay writable. A copy takes the flags along that are there when it is made. So the bind
 * is made read-only where nobody looks, and what appears at the target was never writable. A remount drops the flags it
 * omits.
 */
export function bindReadOnly(source: string, target: string): void {
  using undo = new DisposableStack();
  bind(source, stagingDir);
  undo.defer(() => unmount(stagingDir));
  syscall("mount", undefined, stagingDir, undefined, MS_REMOUNT | MS_BIND | MS_RDONLY | ourFlags);
  bind(stagingDir, target);
}

/**
 * Takes the top mount off `path`, also when its server hangs or somebody still uses it. Answers whether there was one:
 * EINVAL means that the path is not a mount point.
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
