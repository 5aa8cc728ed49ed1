/** Copies of mounts that hang nowhere yet, and ways to put them under a mount that is to be replaced. */
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

/** A copy of what a descriptor names; if nobody attaches it, it goes with its own descriptor. Asks no file system. */
export function cloneTree(place: Descriptor): Descriptor {
  return new Descriptor(syscall("open_tree", place.fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

/** Whoever can make links on the path must not choose where it leads. */
const withoutLinks = RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;

/**
 * A place below a directory, on the directory's own file system. It asks that file system, so the answer takes as long as
 * its server wants. Neither links nor other mounts nor `..` lead out: the server may be hostile.
 */
export async function openBelow(directory: Descriptor, path: string): Promise<Descriptor> {
  return await resolvePath(directory, path, withoutLinks | RESOLVE_NO_XDEV);
}

async function resolvePath(directory: Descriptor, path: string, resolve: number): Promise<Descriptor> {
  const how = openHow(O_PATH, resolve);
  return new Descriptor(await detachedSyscall("openat2", directory.fd, path, how, how.length));
}

/** A mount, found by its path once. Directories on the path may be exchanged afterwards: the descriptors stay what they are. */
export interface HeldMount extends Disposable {
  /** As in mountinfo. Nobody else gets the number while the mount is held. */
  readonly id: number;
  /** The mount's root. */
  readonly root: Descriptor;
  /** The directory in which its mount point is, and the name there. */
  readonly parent: Descriptor;
  readonly name: string;
}

/**
 * The top mount at a path below a root directory, which may be that of a container. Mount tables hold paths without
 * symbolic links, so a link on the path means that somebody changes it: ELOOP. May wait for other mounts on the path.
 * Guarantees that the mount was at that path once; the caller compares `id` with the mount that it means.
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

/** From the kernel's own notes on a descriptor; unlike statx this asks no file system, and old kernels have it. */
export function mountIdOf({ fd }: Descriptor): number {
  const [, id] = /^mnt_id:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, "utf8")) ?? [];
  if (id === undefined) throw new Error("the kernel does not tell which mount a descriptor is on");
  return Number(id);
}

/** Whether a descriptor names a directory, from what the kernel knows: no server is asked, so it may be dead. */
export function isDirectory({ fd }: Descriptor): boolean {
  const status = Buffer.alloc(statxLayout.bytes);
  syscall("statx", fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, status);
  return (status.readUInt16LE(statxLayout.mode) & constants.S_IFMT) === constants.S_IFDIR;
}

/** As kubelet makes the directory of a subPath. */
export async function makeDirectoryBelow(directory: Descriptor, name: string): Promise<void> {
  await detachedSyscall("mkdirat", directory.fd, name, 0o750);
}

/** What the mount may not, the copy may not either; and it gets its mounts from where the mount got them. */
export function copyAttributes(
  tree: Descriptor,
  { options, propagation }: Pick<WholeMount, "options" | "propagation">,
): void {
  const set = options.reduce((bits, option) => bits | (mountAttributes[option] ?? 0), 0);
  // A copy of a shared mount is its peer; what a container mounts in its own must not appear on the host.
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
 * Puts the tree under a mount and takes that off: whoever looks up the path finds the one or the other. Before Linux 6.5
 * there is no "under": the old one goes first, and what is written in between misses the bucket.
 *
 * No path is looked up again but a name in the held directory, whose links are not followed. umount2 takes paths only:
 * `fds` is a directory such as /proc/self/fd, whose magic links lead to exactly what a descriptor names.
 */
function replacement(tree: Descriptor, held: HeldMount, fds: string, canMountBeneath: boolean): readonly [Step, Step] {
  const detach: Step = ["umount2", `${fds}/${held.root.fd}`, MNT_DETACH];
  if (!canMountBeneath) {
    return [detach, ["move_mount", tree.fd, "", held.parent.fd, held.name, MOVE_MOUNT_F_EMPTY_PATH]];
  }
  const flags = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH | MOVE_MOUNT_BENEATH;
  return [["move_mount", tree.fd, "", held.root.fd, "", flags], detach];
}

/** Before Linux 6.5: the old mount was taken off, and the new one could not be put in its place. */
export class MountLost extends Error {
  constructor(cause: unknown) {
    super("the dead mount was taken off, and the new one could not be mounted in its place", { cause });
  }
}

/** The first step is always possible to repeat; the second one is not, where it is the move. */
function afterDetach(error: unknown, canMountBeneath: boolean): unknown {
  const isMove = error instanceof Error && "syscall" in error && error.syscall === "move_mount";
  return isMove && !canMountBeneath ? new MountLost(error) : error;
}

/** A file is never mounted on a directory, nor the reverse: ENOTDIR. Before the old mount is taken off. */
function checkSameType(tree: Descriptor, held: HeldMount): void {
  if (isDirectory(tree) === isDirectory(held.root)) return;
  throw new Error(`what is mounted is a ${kindOf(held.root)}, and in the bucket there is a ${kindOf(tree)}`);
}

function kindOf(place: Descriptor): string {
  return isDirectory(place) ? "directory" : "file";
}

/**
 * In our own namespace, at once. None of it asks a file system. Throws MountLost if nothing is mounted there any more, and
 * leaves the old mount with any other error.
 */
export function replaceHere(tree: Descriptor, held: HeldMount, canMountBeneath = hasMoveMountBeneath()): void {
  checkSameType(tree, held);
  try {
    for (const [name, ...args] of replacement(tree, held, "/proc/self/fd", canMountBeneath)) syscall(name, ...args);
  } catch (error) {
    throw afterDetach(error, canMountBeneath);
  }
}

export interface Inside {
  /** A mount namespace. */
  readonly namespace: Descriptor;
  /** Its root directory: paths of its mount table begin there. */
  readonly root: Descriptor;
  /** Its mountinfo. */
  readonly table: Descriptor;
}

/**
 * The root directory of a mount namespace. A process in it may have another one: chroot hides whatever is outside of it,
 * in its mount table, too. A thread that enters the namespace gets the namespace's own. Asks no file system.
 */
export async function rootOf(namespace: Descriptor): Promise<Descriptor> {
  return await openFrom(namespace, "/", O_PATH);
}

/** The whole mount table of a namespace, from its root directory on; what a descriptor of it shows was decided by its opener. */
export async function tableOf(namespace: Descriptor): Promise<Descriptor> {
  return await openFrom(namespace, "thread-self/mountinfo", constants.O_RDONLY);
}

/** Relative to our own /proc: that of the other namespace is not ours. */
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
 * In another mount namespace, on a thread that enters it. The kernel refuses that to a thread that shares its root and
 * working directory with others, hence CLONE_FS first. What is at /proc in the other namespace is not ours: the thread
 * works in our own. Errors are those of replaceHere.
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

function hasMoveMountBeneath(version = release()): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const [sinceMajor, sinceMinor] = moveMountBeneathSince;
  return major > sinceMajor || (major === sinceMajor && minor >= sinceMinor);
}
