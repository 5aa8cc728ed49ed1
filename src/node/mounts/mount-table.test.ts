import { expect, it } from "vitest";
import type { PodName } from "../../core/names.ts";
import { type Mount, parseMountinfo } from "../../linux/mounts/mountinfo.ts";
import { isOurs, MountTable } from "./mount-table.ts";

const fuse = "rw,nosuid,nodev,noatime shared:7 - fuse mountpoint-s3 rw,user_id=0";
/** The mount table in the node plugin's container, where the plugin's directory is mounted twice. */
const mounts = new MountTable(
  parseMountinfo(
    [
      "21 1 254:0 / /k rw - ext4 /dev/vda rw",
      `90 21 0:45 / /k/plugins/s3.csi.scality.com/mnt/mp-a ${fuse}`,
      `91 21 0:45 / /csi/mnt/mp-a ${fuse}`,
      `92 21 0:45 / /k/pods/one/volumes/kubernetes.io~csi/pv/mount ${fuse}`,
      `93 21 0:45 /sub /k/pods/two/volume-subpaths/pv/app/0 ${fuse}`,
      `94 21 0:46 / /k/plugins/s3.csi.scality.com/mnt/mp-b ${fuse}`,
      `95 21 0:46 / /csi/mnt/mp-b ${fuse}`,
      `96 21 0:47 / /k/pods/old/volumes/kubernetes.io~csi/pv/mount ${fuse}`,
      "98 21 252:45 / /k/pods/rbd/volumes/kubernetes.io~csi/block/mount rw - ext4 /dev/rbd45 rw",
      "99 21 254:0 /elsewhere /k/plugins/s3.csi.scality.com/mnt/mp-c rw - ext4 /dev/vda rw",
      "100 21 254:0 /elsewhere /k/pods/one/volume-subpaths/scratch/app/0 rw - ext4 /dev/vda rw",
      "97 21 0:48 / /k/pods/one/volumes/kubernetes.io~empty-dir/comm rw - tmpfs tmpfs rw",
    ].join("\n"),
  ),
  "/k",
);
const at = (path: string) => mounts.at(path) as Mount;
const ids = (source: string) => mounts.binds(at(source)).map(({ id }) => id);
const behind = (target: string) => mounts.podBehind(at(target));

it("LC-23 counts targets and sub-paths, but neither the second mount of the source nor a block device with its minor number", () => {
  expect(ids("/k/plugins/s3.csi.scality.com/mnt/mp-a")).toEqual([92, 93]);
  expect(ids("/k/plugins/s3.csi.scality.com/mnt/mp-b")).toEqual([]);
});

it("LC-23 counts no mount of the node's disk for a source that somebody has covered with that disk", () => {
  expect(ids("/k/plugins/s3.csi.scality.com/mnt/mp-c")).toEqual([]);
});

it("finds the Mountpoint Pod behind a target, and none behind a mount of 1.x", () => {
  expect(behind("/k/pods/one/volumes/kubernetes.io~csi/pv/mount")).toBe("mp-a");
  expect(behind("/k/pods/old/volumes/kubernetes.io~csi/pv/mount")).toBeUndefined();
});

it("recognizes mounts of the driver", () => {
  expect(isOurs(at("/k/pods/old/volumes/kubernetes.io~csi/pv/mount"))).toBe(true);
  expect(isOurs(at("/k/pods/one/volumes/kubernetes.io~empty-dir/comm"))).toBe(false);
});

it("finds each source by its Mountpoint Pod, and ignores foreign mounts", () => {
  expect(mounts.sourceNames).toEqual(["mp-a", "mp-b", "mp-c"]);
  expect(mounts.source("mp-a" as PodName)?.id).toBe(90);
  expect(mounts.source("mp-c" as PodName)).toBeUndefined();
  expect(mounts.oursAt("/k")).toBeUndefined();
});

it("finds the target to which a sub-path belongs", () => {
  const part = mounts.at("/k/pods/two/volume-subpaths/pv/app/0") as Mount;
  expect(mounts.targetOf(part)).toBe("/k/pods/two/volumes/kubernetes.io~csi/pv/mount");
  expect(mounts.publishedTargets).toContain("/k/pods/two/volumes/kubernetes.io~csi/pv/mount");
});
