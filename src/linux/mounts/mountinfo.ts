/** The mount table of this process. Reading it sends no request to any file system, so it never waits for a hung mount. */
import { readFileSync } from "node:fs";
import type { DeviceId } from "../device-id.ts";

export interface Mount {
  readonly id: number;
  readonly parentId: number;
  /** The same for a source and all its bind mounts. */
  readonly deviceId: DeviceId;
  /** The path in the file system that is the root of this mount: `/`, or the sub-path of a bind mount. */
  readonly root: string;
  readonly mountPoint: string;
  readonly readOnly: boolean;
  readonly fsType: string;
  /** The device argument of mount(2), such as `mountpoint-s3`. */
  readonly device: string;
}

/** A mount with the attributes that a replacement must have, too. */
export interface WholeMount extends Mount {
  /** Options of this mount alone, such as `ro` and `nosuid`. */
  readonly options: readonly string[];
  readonly propagation: "private" | "slave" | "shared" | "slave and shared";
}

/** Reads the mount table of this process. */
export function readMounts(): readonly WholeMount[] {
  return parseMountinfo(readFileSync("/proc/self/mountinfo", "utf8"));
}

/**
 * Returns a function that reads the table and parses it only if its text has changed. A publish reads the table six times, and on a
 * node with a hundred Pods one parsed table takes a megabyte.
 */
export function mountTable(): () => readonly WholeMount[] {
  let seen: { readonly text: string; readonly mounts: readonly WholeMount[] } = { text: "", mounts: [] };
  return () => {
    const text = readFileSync("/proc/self/mountinfo", "utf8");
    if (text !== seen.text) seen = { text, mounts: parseMountinfo(text) };
    return seen.mounts;
  };
}

/** The mount that a look-up of the path `mountPoint` reaches: the top one of a stack. */
export function mountAt(mounts: readonly Mount[], mountPoint: string): Mount | undefined {
  const stack = mounts.filter((mount) => mount.mountPoint === mountPoint);
  // mountinfo lists mounts in the order of their creation, which differs from the order in the stack after MOVE_MOUNT_BENEATH.
  return stack.find((mount) => !stack.some((other) => other.parentId === mount.id));
}

/** Whether another mount covers this one at the same path, so that a look-up of the path does not reach it. */
export function isCovered(mounts: readonly Mount[], { id, mountPoint }: Mount): boolean {
  return mounts.some((other) => other.parentId === id && other.mountPoint === mountPoint);
}

/** Every mount of one file system: a source and its bind mounts. */
export function mountsOfDevice(mounts: readonly Mount[], deviceId: DeviceId): readonly Mount[] {
  return mounts.filter((mount) => mount.deviceId === deviceId);
}

/**
 * Parses the mounts of one file system and the mounts on top of them, and no other lines. Linear in the size of the text,
 * which may be large.
 */
export function parseMountsOfDevice(text: string, deviceId: DeviceId): readonly WholeMount[] {
  const device = ` ${deviceId} `; // occurs in no other field: the kernel writes a space in a path as \\040
  if (!text.includes(device)) return [];
  const lines = text.split("\n");
  const ids = new Set(lines.filter((line) => line.includes(device)).map((line) => fieldOf(line, 0)));
  return lines.filter((line) => line.includes(device) || ids.has(fieldOf(line, 1))).map(parseLine);
}

function fieldOf(line: string, index: 0 | 1): string | undefined {
  return line.split(" ", 2)[index];
}

/** Groups mounts by their parent's id, which avoids quadratic time. */
export function mountsByParent<M extends Mount>(mounts: readonly M[]): ReadonlyMap<number, readonly M[]> {
  return Map.groupBy(mounts, ({ parentId }) => parentId);
}

/** Parses proc_pid_mountinfo(5): ids, device, root, mount point, options, optional fields up to "-", type, device, options. */
export function parseMountinfo(text: string): readonly WholeMount[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map(parseLine);
}

function parseLine(line: string): WholeMount {
  const fields = line.split(" ");
  const separator = fields.indexOf("-", 6);
  const [id, parentId, deviceId, root, mountPoint, options] = fields;
  const [fsType, device] = fields.slice(separator + 1);
  if (separator === -1 || deviceId === undefined || mountPoint === undefined || options === undefined) {
    throw new Error(`not a line of mountinfo: ${line}`);
  }
  const own = options.split(",");
  return {
    id: Number(id),
    parentId: Number(parentId),
    deviceId: deviceId as DeviceId,
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
