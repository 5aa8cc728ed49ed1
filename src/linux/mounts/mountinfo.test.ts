import { expect, it } from "vitest";
import { fuseDevice } from "../device-id.ts";
import { mountAt, mountsOfDevice, mountTable, parseMountinfo, readMounts } from "./mountinfo.ts";

const table = parseMountinfo(
  [
    "21 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
    "90 21 0:45 / /plugin/mnt/mp-a rw,nosuid,nodev,noatime shared:7 - fuse mountpoint-s3 rw,user_id=0,group_id=0",
    "91 21 0:45 / /pods/one/mount rw,nosuid,nodev,noatime shared:7 master:2 - fuse mountpoint-s3 rw,user_id=0",
    "94 21 252:45 / /pods/three/rbd rw,relatime - ext4 /dev/rbd45 rw",
    "92 21 0:45 /sub /pods/two/mount ro,nosuid,nodev,noatime - fuse mountpoint-s3 rw,user_id=0",
    String.raw`93 21 0:46 / /a\040b\134c\011\043 rw propagate_from:1 - tmpfs two\040words rw`,
    "",
  ].join("\n"),
);

it("parses a line without and with several optional fields", () => {
  expect(mountAt(table, "/")).toMatchObject({
    id: 21,
    parentId: 1,
    deviceId: "254:0",
    mountPoint: "/",
    readOnly: false,
    fsType: "ext4",
    device: "/dev/vda",
  });
  expect(mountAt(table, "/pods/one/mount")).toMatchObject({ fsType: "fuse", device: "mountpoint-s3" });
});

it("parses the propagation and the root of a mount", () => {
  const rows = ["", "shared:1 ", "master:1 ", "shared:2 master:1 ", "unbindable "];
  const mounts = parseMountinfo(rows.map((tags) => `1 0 0:45 /a\\040b /m rw,noexec ${tags}- fuse f rw`).join("\n"));
  expect(mounts.map(({ propagation }) => propagation)).toEqual([
    "private",
    "shared",
    "slave",
    "slave and shared",
    "private",
  ]);
  expect(mounts[0]).toMatchObject({ root: "/a b", options: ["rw", "noexec"] });
});

it("reads read-only from the mount options, not from the file system options", () => {
  expect(mountAt(table, "/pods/two/mount")?.readOnly).toBe(true);
  expect(mountAt(table, "/pods/one/mount")?.readOnly).toBe(false);
});

it("decodes the kernel's octal escapes in paths and device names", () => {
  expect(mountAt(table, "/a b\\c\t#")?.device).toBe("two words");
});

it("finds a source and all its bind mounts by their device", () => {
  expect(mountsOfDevice(table, fuseDevice(45)).map((mount) => mount.id)).toEqual([90, 91, 92]);
});

it("finds no mount at a path that only has the prefix of one", () => {
  expect(mountAt(table, "/pods/one")).toBeUndefined();
  expect(mountAt(table, "/pods/one/mount/")).toBeUndefined();
});

it.for([
  { stacked: "on top", lines: ["90 21 0:45 / /m rw - fuse old rw", "95 90 0:47 / /m rw - fuse new rw"], reached: 95 },
  { stacked: "beneath", lines: ["90 95 0:45 / /m rw - fuse old rw", "95 21 0:47 / /m rw - fuse new rw"], reached: 90 },
])("reaches the top of a stack when the newer mount went $stacked", ({ lines, reached }) => {
  expect(mountAt(parseMountinfo(lines.join("\n")), "/m")?.id).toBe(reached);
});

it.for(["garbage", "90 21 0:45 / /m rw fuse old rw"])("refuses %o", (line) => {
  expect(() => parseMountinfo(line)).toThrow("not a line of mountinfo");
});

it("parses the table again only if its text has changed", () => {
  const look = mountTable();
  expect(look()).toBe(look());
  expect(look()).toEqual(readMounts());
});
