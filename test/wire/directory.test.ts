import { execFileSync } from "node:child_process";
import {
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { Directory } from "../../src/linux/directory.ts";

/** Runs as root, as the node plugin does: the volume belongs to a group that root is not in. */
const fsGroup = 1000;

let root: string;
let volume: string;
let hostFile: string;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "directory-"));
  hostFile = join(root, "host-file");
  writeFileSync(hostFile, "a secret of the host", { mode: 0o600 });
});

beforeEach(() => {
  volume = mkdtempSync(join(root, "comm-"));
  chownSync(volume, 0, fsGroup);
});

afterAll(() => rmSync(root, { recursive: true }));

const shapeOf = (path: string) => {
  const { uid, gid, mode } = lstatSync(path);
  return { uid, gid, mode: mode & 0o7777 };
};

it("writes files that root owns and the Pod's group may read", () => {
  using directory = Directory.open(volume);
  directory.write("mount.exit", "bye", 0o640);
  expect(shapeOf(join(volume, "mount.exit"))).toEqual({ uid: 0, gid: fsGroup, mode: 0o640 });
  expect(readFileSync(join(volume, "mount.exit"), "utf8")).toBe("bye");
});

it("replaces a file as a whole and leaves nothing else behind", () => {
  using directory = Directory.open(volume);
  directory.write("keys", "a long first content", 0o640);
  const before = lstatSync(join(volume, "keys")).ino;
  directory.write("keys", "short", 0o640);
  expect(lstatSync(join(volume, "keys")).ino).not.toBe(before);
  expect(readFileSync(join(volume, "keys"), "utf8")).toBe("short");
  expect(readdirSync(volume)).toEqual(["keys"]);
});

it("replaces a link instead of writing through it", () => {
  symlinkSync(hostFile, join(volume, "keys"));
  using directory = Directory.open(volume);
  directory.write("keys", "new", 0o640);
  expect(readFileSync(hostFile, "utf8")).toBe("a secret of the host");
  expect(lstatSync(join(volume, "keys")).isFile()).toBe(true);
});

it("leaves no unfinished file after a failure", () => {
  mkdirSync(join(volume, "keys"));
  using directory = Directory.open(volume);
  expect(() => directory.write("keys", "new", 0o640)).toThrow("EISDIR");
  expect(readdirSync(volume)).toEqual(["keys"]);
});

it("makes a directory for the Pod's group, and opens an existing one", () => {
  using directory = Directory.open(volume);
  for (const content of ["one", "two"]) {
    using credentials = directory.subdirectory("credentials", 0o750);
    credentials.write("keys", content, 0o640);
  }
  expect(shapeOf(join(volume, "credentials"))).toEqual({ uid: 0, gid: fsGroup, mode: 0o750 });
  expect(shapeOf(join(volume, "credentials/keys"))).toEqual({ uid: 0, gid: fsGroup, mode: 0o640 });
  expect(readFileSync(join(volume, "credentials/keys"), "utf8")).toBe("two");
});

it("does not enter a link in place of a directory", () => {
  symlinkSync(root, join(volume, "credentials"));
  using directory = Directory.open(volume);
  expect(() => directory.subdirectory("credentials", 0o750)).toThrow("credentials in the Mountpoint Pod's volume");
  expect(shapeOf(root).gid).not.toBe(fsGroup);
});

it("reads the end of a file, however long that is", () => {
  writeFileSync(join(volume, "mount.err"), `${"x".repeat(100_000)}the cause`);
  using directory = Directory.open(volume);
  expect(directory.readTail("mount.err", 9)).toBe("the cause");
  expect(directory.readTail("mount.err", 1_000_000)).toHaveLength(100_009);
});

it("returns undefined for a missing file", () => {
  using directory = Directory.open(volume);
  expect(directory.readTail("mount.err", 100)).toBeUndefined();
});

it.for([
  { what: "a link to a file of the host", make: (path: string) => symlinkSync(hostFile, path) },
  { what: "a FIFO without a writer", make: (path: string) => execFileSync("mkfifo", [path]) },
  { what: "a directory", make: (path: string) => mkdirSync(path) },
])("refuses to read $what", ({ make }) => {
  make(join(volume, "mount.err"));
  using directory = Directory.open(volume);
  expect(() => directory.readTail("mount.err", 100)).toThrow("mount.err in the Mountpoint Pod's volume");
});

it("keeps using the opened directory after its name is replaced", () => {
  using directory = Directory.open(volume);
  rmSync(volume, { recursive: true });
  symlinkSync(root, volume);
  expect(() => directory.write("host-file", "overwritten", 0o640)).toThrow("ENOENT");
  expect(readFileSync(hostFile, "utf8")).toBe("a secret of the host");
});

it.for(["", ".", "..", "a/b", "../host-file"])("refuses %o as the name of an entry", (name) => {
  using directory = Directory.open(volume);
  expect(() => directory.write(name, "x", 0o640)).toThrow("not a file name");
});
