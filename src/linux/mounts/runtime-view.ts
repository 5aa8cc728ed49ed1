/**
 * What the container runtime sees. A container's mount namespace is a copy of the namespace of the process that starts it
 * (containerd-shim, conmon), so a mount that is missing there is missing in every container made from now on.
 */
import { constants, openSync, readFileSync, readlinkSync } from "node:fs";
import { relative } from "node:path/posix";
import { isErrno, unlessErrno } from "../../runtime/errno.ts";
import { Descriptor } from "../descriptor.ts";
import { deviceOf } from "../device-of.ts";
import { O_PATH, RESOLVE_IN_ROOT, RESOLVE_NO_MAGICLINKS } from "../kernel-abi.ts";
import { syscall } from "../native.ts";
import { openHow } from "../open-how.ts";
import { unlessGone } from "../unless-gone.ts";

/** Deeper than any chain from a program through its init to the runtime. */
const mostAncestors = 16;

/**
 * Whether a path leads the runtime to a FUSE file system, the one of this minor. The path is resolved from the runtime's
 * root: kubelet's directory may be a symbolic link on the node. Asks no FUSE server. undefined: this process runs in no
 * container, or the /proc does not show who started it.
 */
export function isFuseForRuntime(proc: string, path: string, minor: number): boolean | undefined {
  const pid = runtimeProcess(proc);
  if (pid === undefined) return undefined;
  return unlessUnsure(() => {
    using root = new Descriptor(openSync(`${proc}/${pid}/root`, O_PATH | constants.O_DIRECTORY));
    using place = openInRoot(root, path);
    return place !== undefined && deviceOf(place) === `0:${minor}`;
  });
}

/** Each time anew: the runtime's process may end, and its number be given to another one. */
function runtimeProcess(proc: string): string | undefined {
  const own = mountNamespaceOf(proc, "self");
  let pid: string | undefined = "self";
  for (let step = 0; pid !== undefined && step < mostAncestors; step++) {
    pid = parentOf(proc, pid);
    if (pid !== undefined && mountNamespaceOf(proc, pid) !== own) return pid;
  }
  return undefined;
}

/** undefined: there is none, or it is in a pid namespace that this /proc does not show. */
function parentOf(proc: string, pid: string): string | undefined {
  const status = unlessGone(() => readFileSync(`${proc}/${pid}/status`, "utf8")) ?? "";
  const [, parent = "0"] = /^PPid:\s+(\d+)$/m.exec(status) ?? [];
  return parent === "0" ? undefined : parent;
}

function mountNamespaceOf(proc: string, pid: string): string | undefined {
  return unlessGone(() => readlinkSync(`${proc}/${pid}/ns/mnt`));
}

/** The kernel answers EAGAIN when something is mounted or renamed while it follows `..`. */
const mostTries = 8;

/** undefined: there is no such path. */
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

/** ENOSYS: no openat2 before Linux 5.6. EAGAIN: mounts on the path change all the time. */
function unlessUnsure<Answer>(ask: () => Answer): Answer | undefined {
  return unlessErrno(["ENOSYS", "EAGAIN"], () => unlessGone(ask));
}
