import { expect, it } from "vitest";
import { scenariosOf } from "./fuse-scenarios.ts";

const observe = scenariosOf("mount");

it("mounts like 2.x, blocks without a server, and finds the mount dead when the device is closed", async () => {
  await expect(observe("unserved")).resolves.toEqual({
    line: "rw,nosuid,nodev,noatime - fuse mountpoint-s3 rw,user_id=0,group_id=0,default_permissions,allow_other",
    whileWaiting: "hung",
    withoutDevice: "dead",
    unmounted: [true, true, false, false],
    afterwards: "absent",
  });
});

it("probes each of many hung mounts once, without blocking event loop, file operations or the program's exit", async () => {
  await expect(observe("manyHung")).resolves.toEqual({
    threadsAdded: 6,
    eventLoopTurned: true,
    read: true,
    answers: Array.from({ length: 12 }, () => "hung"),
  });
});

it("reports every change of the mount table", async () => {
  await expect(observe("changes")).resolves.toEqual(["mount -t tmpfs some place", "umount place"]);
});

it("makes a target read-only in the host's copy, too", async () => {
  await expect(observe("propagated")).resolves.toEqual({
    readOnly: [true, true],
    errors: ["EROFS", "EROFS"],
    ended: 0,
  });
});

it("makes one target read-only while the others of the same source stay writable", async () => {
  await expect(observe("served")).resolves.toEqual({
    health: "serving",
    shown: [
      [true, false],
      [false, false],
      [false, true],
    ],
    lineOfReadOnly:
      "ro,nosuid,nodev,noatime - fuse mountpoint-s3 rw,user_id=0,group_id=0,default_permissions,allow_other",
    errors: ["ENOSYS", "EROFS"], // the server of the fixture has no mkdir; the kernel does not ask it when read-only
    ended: 0,
  });
});

it("finds a mount dead whose server was killed", async () => {
  await expect(observe("killed")).resolves.toEqual({ before: "serving", after: "dead" });
});

it("binds and unmounts while a server never answers, and does not confuse the next mount with it", async () => {
  await expect(observe("mute")).resolves.toEqual({ unmounted: [true, true], ofSuccessor: "serving", health: "dead" });
});

it("lets one caller stop waiting while another gets the answer", async () => {
  await expect(observe("impatient")).resolves.toEqual({ stopped: "Error: no longer interested", answer: "dead" });
});

it("reports a directory without a mount, and a missing directory, as absent", async () => {
  await expect(observe("notMounted")).resolves.toEqual(["absent", "absent"]);
});

it("serves a volume from the request to the unmount despite signals", async () => {
  await expect(observe("published")).resolves.toEqual({ health: "serving", names: [], closed: "byPeer", code: 0 });
});
