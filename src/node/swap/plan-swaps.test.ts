import { describe, expect, it } from "vitest";
import { fuseDevice } from "../../linux/device-id.ts";
import { parseMountinfo } from "../../linux/mounts/mountinfo.ts";
import { countMounts, swapsHere, swapsInside } from "./plan-swaps.ts";

const dead = fuseDevice(45);
const fuse = "- fuse mountpoint-s3 rw,user_id=0,group_id=0,default_permissions,allow_other";
const table = (...lines: readonly string[]) => parseMountinfo(lines.join("\n"));
const mountPoints = ({ swaps }: ReturnType<typeof swapsInside>) => swaps.map(({ mountPoint }) => mountPoint);

describe("in a container", () => {
  it("replaces every mount of the dead device, and nothing else", () => {
    const mounts = table(
      "1 0 0:30 / / rw - overlay overlay rw",
      `2 1 0:45 / /data rw,nosuid,nodev,noatime ${fuse}`,
      `3 1 0:46 / /other rw,nosuid,nodev,noatime ${fuse}`,
      `4 1 0:45 /a/b /part ro,nosuid,nodev,noatime master:7 ${fuse}`,
      "5 1 0:45 / /foreign rw - fuse.sshfs sshfs rw",
      `6 1 8:45 / /device rw ${fuse}`,
    );
    expect(swapsInside(mounts, dead)).toEqual({
      swaps: [
        expect.objectContaining({ mountPoint: "/data", root: "/", propagation: "private" }),
        expect.objectContaining({ mountPoint: "/part", root: "/a/b", propagation: "slave" }),
      ],
      refusals: [],
    });
  });

  it("skips copies of kubelet's directory, wherever they are mounted", () => {
    const mounts = table(
      `2 1 0:45 / /rootfs/var/lib/kubelet/pods/u/volumes/kubernetes.io~csi/pv/mount rw ${fuse}`,
      `3 1 0:45 /sub /rootfs/var/lib/kubelet/pods/u/volume-subpaths/pv/app/0 rw ${fuse}`,
      `4 1 0:45 / /rootfs/var/lib/kubelet/plugins/s3.csi.scality.com/mnt/mp-1 rw ${fuse}`,
    );
    expect(swapsInside(mounts, dead)).toEqual({ swaps: [], refusals: [] });
  });

  it("skips a dead mount that is covered, also when the cover was mounted beneath another mount", () => {
    const mounts = table(`2 1 0:45 / /data rw ${fuse}`, `3 2 0:47 / /data rw ${fuse}`);
    expect(swapsInside(mounts, dead)).toEqual({ swaps: [], refusals: [] });
  });

  it("skips a covered dead mount although there are other mounts on it, which the cover hides", () => {
    const mounts = table(
      `2 1 0:45 / /data rw ${fuse}`,
      "3 2 8:1 /x /data/scratch rw - ext4 /dev/sda rw",
      `4 2 0:47 / /data rw ${fuse}`,
    );
    expect(swapsInside(mounts, dead)).toEqual({ swaps: [], refusals: [] });
  });

  it("refuses a dead mount that has other mounts on it", () => {
    const mounts = table(`2 1 0:45 / /data rw ${fuse}`, "3 2 8:1 /x /data/scratch rw - ext4 /dev/sda rw");
    const refusal = { mountPoint: "/data", because: "holds other mounts (/data/scratch)" };
    expect(swapsInside(mounts, dead)).toEqual({ swaps: [], refusals: [refusal] });
    expect(countMounts(swapsInside(mounts, dead))).toBe(1);
  });
});

it.for([
  { count: 1000, others: ", 995 more" },
  { count: 5, others: "" },
])("names only some of many mounts on a dead one: $count", ({ count, others }) => {
  const above = Array.from(
    { length: count },
    (_, index) => `${index + 3} 2 8:1 /x /data/${index} rw - ext4 /dev/sda rw`,
  );
  const { refusals } = swapsInside(table(`2 1 0:45 / /data rw ${fuse}`, ...above), dead);
  const because = `holds other mounts (/data/0, /data/1, /data/2, /data/3, /data/4${others})`;
  expect(refusals).toEqual([{ mountPoint: "/data", because }]);
});

it("replaces targets and sub-paths on the host, but not the source", () => {
  const mounts = table(
    `2 1 0:45 / /k/plugins/s3.csi.scality.com/mnt/mp-1 rw shared:3 ${fuse}`,
    `3 1 0:45 / /k/pods/u/volumes/kubernetes.io~csi/pv/mount ro shared:3 ${fuse}`,
    `4 1 0:45 /sub /k/pods/u/volume-subpaths/pv/app/0 rw shared:3 ${fuse}`,
  );
  expect(mountPoints(swapsHere(mounts, dead, "/k"))).toEqual([
    "/k/pods/u/volumes/kubernetes.io~csi/pv/mount",
    "/k/pods/u/volume-subpaths/pv/app/0",
  ]);
});
