import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { afterEach, beforeEach, expect, it } from "vitest";
import { call } from "../../../test/support/fake-node.ts";
import { fuseDevice } from "../../linux/device-id.ts";
import { mayHold } from "./may-hold.ts";
import { PodAllowance } from "./swap-limits.ts";

const root = "22 1 254:1 / / rw - ext4 /dev/vda rw";
const volume = "36 22 0:45 / /data rw - fuse mountpoint-s3 rw";
const copyOfKubelet = "37 22 0:45 / /host/pods/u/volumes/kubernetes.io~csi/pv/mount rw - fuse mountpoint-s3 rw";

let proc: string;

beforeEach(() => {
  proc = mkdtempSync(join(tmpdir(), "proc-"));
});

afterEach(() => rmSync(proc, { recursive: true }));

function process(pid: number, rootDirectory: string, ...lines: readonly string[]): void {
  mkdirSync(join(proc, String(pid)));
  symlinkSync(rootDirectory, join(proc, String(pid), "root"));
  writeFileSync(join(proc, String(pid), "mountinfo"), lines.map((line) => `${line}\n`).join(""));
}

function ask(allowance = new PodAllowance()): Promise<boolean> {
  return mayHold(call, { proc, deviceId: fuseDevice(45) }, { id: "mnt:[1]", pids: [7, 8] }, allowance);
}

it.for([
  { why: "has the volume", root: "/", lines: [root, volume], may: true },
  { why: "does not have the volume", root: "/", lines: [root], may: false },
  { why: "has only a copy of kubelet's directory", root: "/", lines: [root, copyOfKubelet], may: false },
  { why: "is seen by a process with another root directory", root: "/jail", lines: [root], may: true },
])("SE-9 a namespace that $why may hold the dead device: $may", async ({ root: rootDirectory, lines, may }) => {
  process(8, rootDirectory, ...lines); // 7 has ended
  await expect(ask()).resolves.toBe(may);
});

it("SE-9 asks the next process of a namespace when one ends before its table is opened", async () => {
  mkdirSync(join(proc, "7"));
  symlinkSync("/", join(proc, "7", "root"));
  process(8, "/", root, volume);
  await expect(ask()).resolves.toBe(true);
});

it("SE-9 a namespace without processes holds nothing", async () => {
  await expect(ask()).resolves.toBe(false);
});

it("SE-9 a namespace may hold the device if its table cannot be read within the limits of the Pod", async () => {
  process(7, "/", root);
  const allowance = new PodAllowance();
  allowance.hasRead(32 * 2 ** 20 - 10);
  await expect(ask(allowance)).resolves.toBe(true);
  // The allowance is exhausted for the next table.
  expect(allowance.unentered).toBeUndefined();
  await expect(ask(allowance)).resolves.toBe(true);
});
