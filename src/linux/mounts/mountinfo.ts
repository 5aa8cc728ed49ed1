/**
 * What is mounted where, as this process sees it. Reading the table sends no request to any file system, so it is safe
 * beside a hung mount.
 */
import { readFileSync } from "node:fs";

export interface Mount {
  readonly id: number;
  readonly parentId: number;
  /** 0 for file systems without a block device, which those of FUSE are. */
  readonly major: number;
  /** With the major number the device: the same for a source and all its binds. Of FUSE the name of its directory in fusectl. */
  readonly minor: number;
  /** The directory of the file system that is shown: `/`, or what a bind of a part shows. */
  readonly root: string;
  readonly mountPoint: string;
  readonly readOnly: boolean;
  readonly fsType: string;
  /** What mount(2) was given as the device, such as `mountpoint-s3`. */
  readonly device: string;
}

/** With what a copy of a mount has to have to be like it. */
export interface WholeMount extends Mount {
  /** Options of this mount alone, such as `ro` and `nosuid`. */
  readonly options: readonly string[];
  readonly propagation: "private" | "slave" | "shared" | "slave and shared";
}

/** The table of this process's mount namespace. */
export function readMounts(): readonly WholeMount[] {
  return parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"));
}

/**
 * The same table, for somebody who looks often: while the kernel writes the same text, it is not taken apart again. A
 * publish looks six times, and on a node with a hundred Pods the parts of one table are a megabyte.
 */
export function mountTable(): () => readonly WholeMount[] {
  let seen: { readonly text: string; readonly mounts: readonly WholeMount[] } = { text: "", mounts: [] };
  return () => {
    const text = readFileSync("/proc/self/mountinfo", "utf8");
    if (text !== seen.text) seen = { text, mounts: parseMountinfo(text) };
    return seen.mounts;
  };
}

/** The mount that a path look-up of `mountPoint` reaches: the top one if several are stacked. */
export function mountAt(mounts: readonly Mount[], mountPoint: string): Mount | undefined {
  const stack = mounts.filter((mount) => mount.mountPoint === mountPoint);
  // Order in the file is order of creation, which is not order in the stack after MOVE_MOUNT_BENEATH.
  return stack.find((mount) => !stack.some((other) => other.parentId === mount.id));
}

/** Whether another mount lies on it at the same path: who looks up the path does not meet it. */
export function isCovered(mounts: readonly Mount[], { id, mountPoint }: Mount): boolean {
  return mounts.some((other) => other.parentId === id && other.mountPoint === mountPoint);
}

/** Every mount of one FUSE file system: a source and its binds. A block device may have the same minor number. */
export function mountsOfFuse(mounts: readonly Mount[], minor: number): readonly Mount[] {
  return mounts.filter((mount) => mount.major === 0 && mount.minor === minor);
}

/**
 * Of a table that may be large: the mounts of one FUSE file system, and those that lie on them. Takes a time that is
 * proportional to the text, and takes apart no other lines.
 */
export function parseMountsOfFuse(text: string, minor: number): readonly WholeMount[] {
  const device = ` 0:${minor} `; // nowhere else: the kernel writes a space in a path as \\040
  if (!text.includes(device)) return [];
  const lines = text.split("\n");
  const ids = new Set(lines.filter((line) => line.includes(device)).map((line) => fieldOf(line, 0)));
  return lines.filter((line) => line.includes(device) || ids.has(fieldOf(line, 1))).map(parseLine);
}

function fieldOf(line: string, index: 0 | 1): string | undefined {
  return line.split(" ", 2)[index];
}

/** Mounts by the id of the mount on which they lie: to look for them one by one would take quadratic time. */
export function mountsByParent<M extends Mount>(mounts: readonly M[]): ReadonlyMap<number, readonly M[]> {
  return Map.groupBy(mounts, ({ parentId }) => parentId);
}

/** proc_pid_mountinfo(5): ids, device, root, mount point, options, optional fields up to "-", type, device, options. */
export function parseMountinfo(text: string): readonly WholeMount[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map(parseLine);
}

function parseLine(line: string): WholeMount {
  const fields = line.split(" ");
  const separator = fields.indexOf("-", 6);
  const [id, parentId, majorMinor, root, mountPoint, options] = fields;
  const [fsType, device] = fields.slice(separator + 1);
  if (separator === -1 || majorMinor === undefined || mountPoint === undefined || options === undefined) {
    throw new Error(`not a line of mountinfo: ${line}`);
  }
  const own = options.split(",");
  const [major, minor] = majorMinor.split(":").map(Number);
  return {
    id: Number(id),
    parentId: Number(parentId),
    major: major ?? -1,
    minor: minor ?? -1,
    mountPoint: unescaped(mountPoint),
    readOnly: own.includes("ro"),
    fsType: fsType ?? "",
    device: unescaped(device ?? ""),
    root: unescaped(root ?? ""),
    options: own,
    propagation: propagationIn(fields.slice(6, separator)),
  };
}

function propagationIn(tags: readonly string[]): WholeMount["propagation"] {
  const shared = tags.some((tag) => tag.startsWith("shared:"));
  const slave = tags.some((tag) => tag.startsWith("master:"));
  if (shared && slave) return "slave and shared";
  if (slave) return "slave";
  return shared ? "shared" : "private";
}

/** The kernel writes space, tab, newline, backslash and # as three octal digits. */
function unescaped(field: string): string {
  return field.replaceAll(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
