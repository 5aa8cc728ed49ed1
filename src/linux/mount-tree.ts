/** Copies of mounts that hang nowhere yet, and ways to put them under a mount that is to be replaced. */
import { release } from "node:os";
import { Descriptor } from "./descriptor.ts";
import type { WholeMount } from "./mountinfo.ts";
import { detachedSyscall, detachedSyscalls, syscall } from "./native.ts";

const AT_FDCWD = -100;
const AT_EMPTY_PATH = 0x1000;
const OPEN_TREE_CLONE = 0x1;
const OPEN_TREE_CLOEXEC = 0o2000000;

/** A copy of what a descriptor names; if nobody attaches it, it goes with its own descriptor. Asks no file system. */
export function cloneTree(place: Descriptor): Descriptor {
  return new Descriptor(syscall("open_tree", place.fd, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

const O_PATH = 0o10000000;
const O_CLOEXEC = 0o2000000;
/** Neither links nor other mounts nor the way up lead out: who serves the file system may be hostile. */
const resolveInside = 0x01 | 0x02 | 0x04 | 0x08;

/** A place below a directory. It asks the file system, so the answer takes as long as its server wants. */
export async function openBelow(directory: Descriptor, path: string): Promise<Descriptor> {
  const how = Buffer.alloc(24); // struct open_how
  how.writeBigUInt64LE(BigInt(O_PATH | O_CLOEXEC), 0);
  how.writeBigUInt64LE(BigInt(resolveInside), 16);
  return new Descriptor(await detachedSyscall("openat2", directory.fd, path, how, how.length));
}

/** As kubelet makes the directory of a subPath. */
export async function makeBelow(directory: Descriptor, name: string): Promise<void> {
  await detachedSyscall("mkdirat", directory.fd, name, 0o750);
}

const attributes: Readonly<Record<string, number>> = { ro: 0x1, nosuid: 0x2, nodev: 0x4, noexec: 0x8 };
const MS_PRIVATE = 0x40000;
const MS_SLAVE = 0x80000;
const MS_SHARED = 0x100000;

/** What the mount may not, the copy may not either; and it gets its mounts from where the mount got them. */
export function makeAlike(
  tree: Descriptor,
  { options, propagation }: Pick<WholeMount, "options" | "propagation">,
): void {
  const set = options.reduce((bits, option) => bits | (attributes[option] ?? 0), 0);
  // A copy of a shared mount is its peer; what a container mounts in its own must not appear on the host.
  if (propagation.startsWith("slave")) setAttributes(tree, 0, MS_SLAVE);
  if (propagation === "private") setAttributes(tree, set, MS_PRIVATE);
  else setAttributes(tree, set, propagation === "slave" ? 0 : MS_SHARED);
}

function setAttributes(tree: Descriptor, set: number, propagation: number): void {
  const attr = Buffer.alloc(32); // struct mount_attr: set, clear, propagation, user namespace
  attr.writeBigUInt64LE(BigInt(set), 0);
  attr.writeBigUInt64LE(BigInt(propagation), 16);
  syscall("mount_setattr", tree.fd, "", AT_EMPTY_PATH, attr, attr.length);
}

const MOVE_MOUNT_F_EMPTY_PATH = 0x4;
const MOVE_MOUNT_BENEATH = 0x200;
const MNT_DETACH = 0x2;
const UMOUNT_NOFOLLOW = 0x8;

type Step = readonly [name: "move_mount" | "umount2", ...args: readonly (number | string)[]];

/**
 * Puts the tree under the top mount of a path and takes that off: whoever looks up the path finds the one or the
 * other. Before Linux 6.5 there is no "under": the old one goes first, and what is written in between misses the bucket.
 */
function replacement(tree: Descriptor, path: string, canGoBeneath: boolean): readonly [Step, Step] {
  const beneath = canGoBeneath ? MOVE_MOUNT_BENEATH : 0;
  const move: Step = ["move_mount", tree.fd, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH | beneath];
  const detach: Step = ["umount2", path, MNT_DETACH | UMOUNT_NOFOLLOW];
  return canGoBeneath ? [move, detach] : [detach, move];
}

/** In our own namespace, at once. None of it asks a file system. */
export function replaceHere(tree: Descriptor, path: string, canGoBeneath = kernelGoesBeneath()): void {
  for (const [name, ...args] of replacement(tree, path, canGoBeneath)) syscall(name, ...args);
}

const CLONE_FS = 0x200;
const CLONE_NEWNS = 0x20000;

export interface Inside {
  /** A mount namespace. */
  readonly namespace: Descriptor;
  /** The root directory of a process in it: paths of its mount table begin there. */
  readonly root: Descriptor;
}

/**
 * In another mount namespace, on a thread that enters it. The kernel refuses that to a thread that shares its root and
 * working directory with others, hence CLONE_FS first.
 */
export async function replaceInside(
  { namespace, root }: Inside,
  tree: Descriptor,
  path: string,
  canGoBeneath = kernelGoesBeneath(),
): Promise<void> {
  await detachedSyscalls(
    ["unshare", CLONE_FS],
    ["setns", namespace.fd, CLONE_NEWNS],
    ["fchdir", root.fd],
    ["chroot", "."],
    ...replacement(tree, path, canGoBeneath),
  );
}

/** MOVE_MOUNT_BENEATH came with Linux 6.5. */
function kernelGoesBeneath(version = release()): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 5);
}
