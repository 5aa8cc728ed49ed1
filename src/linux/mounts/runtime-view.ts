/**
 * The mounts of the container runtime. A container's mount namespace is a copy of the namespace of the process that starts it
 * (containerd-shim, conmon), so a mount that is missing there is missing in every new container.
 */

import { constants, openSync, readFileSync, readlinkSync } from "node:fs";
import { relative } from "node:path/posix";
import { isErrno, unlessErrno } from "../../runtime/errno.ts";
import { Descriptor } from "../descriptor.ts";
import type { DeviceId } from "../device-id.ts";
import { deviceOf } from "../device-of.ts";
import { O_PATH, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS } from "../kernel-abi.ts";
import { syscall } from "../native.ts";
import { openHow } from "../open-how.ts";
import { unlessGone } from "../unless-gone.ts";

/** More than the ancestors of any program up to the runtime, an init process included. */
const mostAncestors = 16;

/**
 * Whether a path leads to the file system with this device in the runtime's mount namespace. The path is resolved from
 * the runtime's root, because kubelet's directory may be a symbolic link on the node. Sends no request to a FUSE server.
 * undefined if this process runs in no container, or if the given /proc does not show the runtime's process.
 */
export function isDeviceForRuntime(proc: string, path: string, deviceId: DeviceId): boolean | undefined {
  const pid = runtimeProcess(proc);
  if (pid === undefined) return undefined;
  return unlessUnsure(() => {
    using root = new Descriptor(openSync(`${proc}/${pid}/root`, O_PATH | constants.O_DIRECTORY));
    using file = openInRoot(root, path);
    return file !== undefined && deviceOf(file) === deviceId;
  });
}

/** Searches for the process on each call: the runtime's process may end, and the kernel reuses pids. */
function runtimeProcess(proc: string): string | undefined {
  const own = mountNamespaceOf(proc, "self");
  let pid: string | undefined = "self";
  for (let step = 0; pid !== undefined && step < mostAncestors; step++) {
    pid = parentOf(proc, pid);
    if (pid !== undefined && mountNamespaceOf(proc, pid) !== own) return pid;
  }
  return undefined;
}

/** undefined if there is no parent, or if its pid namespace is not visible in this /proc. */
function parentOf(proc: string, pid: string): string | undefined {
  const status = unlessGone(() => readFileSync(`${proc}/${pid}/status`, "utf8")) ?? "";
  const [, parent = "0"] = /^PPid:\s+(\d+)$/m.exec(status) ?? [];
  return parent === "0" ? undefined : parent;
}

function mountNamespaceOf(proc: string, pid: string): string | undefined {
  return unlessGone(() => readlinkSync(`${proc}/${pid}/ns/mnt`));
}

/** openat2 returns EAGAIN if a mount or rename happens while the kernel follows `..`. */
const mostTries = 8;

/** undefined if the path does not exist. */
function openInRoot(root: Descriptor, path: string, tries = 1): Descriptor | undefined {
  const how = openHow(O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
  try {
    return new Descriptor(syscall("openat2", root.fd, relative("/", path) || ".", how, how.length));
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    if (isErrno(error, "EAGAIN") && tries < mostTries) return openInRoot(root, path, tries + 1);
    throw error;
  }
}

/** ENOSYS: openat2 does not exist before Linux 5.6. EAGAIN: mounts on the path change all the time. */
function unlessUnsure<Answer>(ask: () => Answer): Answer | undefined {
  return unlessErrno(["ENOSYS", "EAGAIN"], () => unlessGone(ask));
}
