/** Detached copies of mounts, and the replacement of an existing mount by such a copy. */
import { constants, readFileSync } from "node:fs";
import { release } from "node:os";
import { parse, relative } from "node:path/posix";
import { Descriptor, openPath } from "../descriptor.ts";
import {
  AT_EMPTY_PATH,
  AT_STATX_DONT_SYNC,
  CLONE_FS,
  CLONE_NEWNS,
  MNT_DETACH,
  MOVE_MOUNT_BENEATH,
  MOVE_MOUNT_F_EMPTY_PATH,
  MOVE_MOUNT_T_EMPTY_PATH,
  MS_PRIVATE,
  MS_SHARED,
  MS_SLAVE,
  mountAttrBytes,
  mountAttributes,
  moveMountBeneathSince,
  O_PATH,
  OPEN_TREE_CLOEXEC,
  OPEN_TREE_CLONE,
  RESOLVE_BENEATH,
  RESOLVE_NO_MAGICLINKS,
  RESOLVE_NO_SYMLINKS,
  RESOLVE_NO_XDEV,
  statxLayout,
} from "../kernel-abi.ts";
import { detachedSyscall, detachedSyscalls, syscall } from "../native.ts";
import { openHow } from "../open-how.ts";
import type { WholeMount } from "./mountinfo.ts";

/**
 * Makes a detached copy of the mount at a descriptor, with the file of the descriptor as its root. A copy that is never attached
 * ends with its descriptor. Sends no request to the file system.
 */
export function cloneTree(root: Descriptor): Descriptor {
  return new Descriptor(syscall("open_tree", root.fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

/** A process that can create links on the path must not control where the path leads. */
const withoutLinks = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;

/**
 * Opens a path below a directory, on the file system of the directory. Sends requests to that file system, so the call may take
 * arbitrarily long. Guarantees that neither links nor other mounts nor `..` lead out: the server may be hostile.
 */
export async function openBelow(directory: Descriptor, path: string): Promise<Descriptor> {
  return await resolvePath(directory, path, withoutLinks | RESOLVE_NO_XDEV);
}

async function resolvePath(directory: Descriptor, path: string, resolve: number): Promise<Descriptor> {
  const how = openHow(O_PATH, resolve);
  return new Descriptor(await detachedSyscall("openat2", directory.fd, path, how, how.length));
}

/** A mount that was resolved once. Later changes of directories on the path do not affect the descriptors. */
export interface HeldMount extends Disposable {
  /** The mount id of mountinfo. The kernel does not reuse it while the mount is held. */
  readonly id: number;
  /** The mount's root. */
  readonly root: Descriptor;
  /** The parent directory of the mount point, and the name of the mount point in it. */
  readonly parent: Descriptor;
  readonly name: string;
}

/**
 * Opens the top mount at a path below a root directory, which may be that of a container. Mount tables contain paths without
 * symbolic links, so a link on the path means that a process has changed it: ELOOP. May wait for other mounts on the path.
 * Guarantees only that the mount was at that path at some moment: the caller must compare `id` with the expected mount.
 */
export async function holdMount(root: Descriptor, path: string): Promise<HeldMount> {
  using undo = new DisposableStack();
  const { dir, base } = parse(path);
  const parent = undo.use(await resolvePath(root, relative("/", dir) || ".", withoutLinks));
  const held = undo.use(await resolvePath(parent, base, withoutLinks));
  const id = mountIdOf(held);
  const kept = undo.move();
  return { id, root: held, parent, name: base, [Symbol.dispose]: () => kept[Symbol.dispose]() };
}

/** The mount id of a descriptor, from /proc/self/fdinfo: this sends no request to the file system and works on old kernels. */
export function mountIdOf({ fd }: Descriptor): number {
  const [, id] = /^mnt_id:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8")) ?? [];
  if (id === undefined) throw new Error("fdinfo of the kernel has no mnt_id");
  return Number(id);
}

/** Whether a descriptor names a directory, from the kernel's cache. Sends no request, so the server may be dead. */
export function isDirectory({ fd }: Descriptor): boolean {
  const status = Buffer.alloc(statxLayout.bytes);
  syscall("statx", fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, status);
  return (status.readUInt16LE(statxLayout.mode) & constants.S_IFMT) === constants.S_IFDIR;
}

/** Makes a directory with the mode that kubelet uses for a subPath. Sends a request to the file system and may take long. */
export async function makeDirectoryBelow(directory: Descriptor, name: string): Promise<void> {
  await detachedSyscall("mkdirat", directory.fd, name, 0o750);
}

/** Gives a detached copy the restrictions (ro, nosuid, nodev, noexec) and the propagation of the mount that it replaces. */
export function copyAttributes(
  tree: Descriptor,
  { options, propagation }: Pick<WholeMount, "options" | "propagation">,
): void {
  const set = options.reduce((bits, option) => bits | (mountAttributes[option] ?? 0), 0);
  // A copy of a shared mount is its peer. Mounts that a container makes in its own copy must not propagate to the host.
  if (propagation.startsWith("slave")) setAttributes(tree, 0, MS_SLAVE);
  if (propagation === "private") setAttributes(tree, set, MS_PRIVATE);
  else setAttributes(tree, set, propagation === "slave" ? 0 : MS_SHARED);
}

function setAttributes(tree: Descriptor, set: number, propagation: number): void {
  const attr = Buffer.alloc(mountAttrBytes); // struct mount_attr: set, clear, propagation, user namespace
  attr.writeBigUInt64LE(BigInt(set), 0);
  attr.writeBigUInt64LE(BigInt(propagation), 16);
  syscall("mount_setattr", tree.fd, "", AT_EMPTY_PATH, attr, attr.length);
}

type Step = readonly [name: "move_mount" | "umount2", ...args: readonly (number | string)[]];

/**
 * The steps that attach the tree beneath the held mount and then detach the held mount: a look-up of the path always finds one of
 * the two. Before Linux 6.5 the held mount is detached first, and files written in between do not reach the bucket.
 *
 * No path is resolved again except one name in the held parent directory, without following links. umount2 takes only paths:
 * `fds` is a directory such as /proc/self/fd, whose magic links lead to exactly the file of a descriptor.
 */
function replacement(tree: Descriptor, held: HeldMount, fds: string, canMountBeneath: boolean): readonly [Step, Step] {
  const detach: Step = ["umount2", `${fds}/${held.root.fd}`, MNT_DETACH];
  if (!canMountBeneath) {
    return [detach, ["move_mount", tree.fd, "", held.parent.fd, held.name, MOVE_MOUNT_F_EMPTY_PATH]];
  }
  const flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | MOVE_MOUNT_BENEATH;
  return [["move_mount", tree.fd, "", held.root.fd, "", flags], detach];
}

/** Before Linux 6.5: the old mount was detached, and the new one could not be attached. */
export class MountLost extends Error {
  constructor(cause: unknown) {
    super("the old mount was taken off, and the new one could not be mounted in its place", { cause });
  }
}

/** A failed first step changes nothing and can be repeated. A failed move_mount after the detach has lost the mount. */
function afterDetach(error: unknown, canMountBeneath: boolean): unknown {
  const isMove = error instanceof Error && "syscall" in error && error.syscall === "move_mount";
  return isMove && !canMountBeneath ? new MountLost(error) : error;
}

/** The kernel mounts no file on a directory, nor the reverse (ENOTDIR). Checked before the old mount is detached. */
function checkSameType(tree: Descriptor, held: HeldMount): void {
  if (isDirectory(tree) === isDirectory(held.root)) return;
  throw new Error(`what is mounted is a ${kindOf(held.root)}, and in the bucket there is a ${kindOf(tree)}`);
}

function kindOf(file: Descriptor): string {
  return isDirectory(file) ? "directory" : "file";
}

/**
 * Replaces a held mount of the own mount namespace by a detached tree. Sends no request to a file system. Throws MountLost if the
 * old mount is detached and the new one is not attached; after any other error the old mount is unchanged.
 */
export function replaceHere(tree: Descriptor, held: HeldMount, canMountBeneath = hasMoveMountBeneath()): void {
  checkSameType(tree, held);
  try {
    for (const [name, ...args] of replacement(tree, held, "/proc/self/fd", canMountBeneath)) syscall(name, ...args);
  } catch (error) {
    throw afterDetach(error, canMountBeneath);
  }
}

/** Descriptors of another mount namespace. */
export interface Inside {
  readonly namespace: Descriptor;
  /** Root directory of the namespace: the paths of its mount table begin there. */
  readonly root: Descriptor;
  /** mountinfo of the namespace. */
  readonly table: Descriptor;
}

/**
 * Opens the root directory of a mount namespace. A process in the namespace may have another root: chroot hides mounts outside of
 * it, also in mountinfo. A thread that enters the namespace gets the root of the namespace. Sends no request to a file system.
 */
export async function rootOf(namespace: Descriptor): Promise<Descriptor> {
  return await openFrom(namespace, "/", O_PATH);
}

/** Opens the complete mount table of a namespace. The root of the thread that opens mountinfo determines what it shows. */
export async function tableOf(namespace: Descriptor): Promise<Descriptor> {
  return await openFrom(namespace, "thread-self/mountinfo", constants.O_RDONLY);
}

/** Resolves the path relative to our own /proc, because the other namespace may have a forged one. */
async function openFrom(namespace: Descriptor, path: string, flags: number): Promise<Descriptor> {
  using proc = openPath("/proc");
  const how = openHow(flags, 0);
  return new Descriptor(
    await detachedSyscalls(
      ["unshare", CLONE_FS],
      ["setns", namespace.fd, CLONE_NEWNS],
      ["openat2", proc.fd, path, how, how.length],
    ),
  );
}

/**
 * Replaces a held mount of another mount namespace, on a thread that enters the namespace. The kernel refuses setns to a thread that
 * shares its root and working directory with others, hence unshare(CLONE_FS) first. /proc of the other namespace may be
 * forged: the thread changes to our own /proc. Errors are those of replaceHere.
 */
export async function replaceInside(
  { namespace }: Pick<Inside, "namespace">,
  tree: Descriptor,
  held: HeldMount,
  canMountBeneath = hasMoveMountBeneath(),
): Promise<void> {
  checkSameType(tree, held);
  using proc = openPath("/proc");
  try {
    await detachedSyscalls(
      ["unshare", CLONE_FS],
      ["setns", namespace.fd, CLONE_NEWNS],
      ["fchdir", proc.fd],
      ...replacement(tree, held, "self/fd", canMountBeneath),
    );
  } catch (error) {
    throw afterDetach(error, canMountBeneath);
  }
}

export function hasMoveMountBeneath(version = release()): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const [sinceMajor, sinceMinor] = moveMountBeneathSince;
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}
