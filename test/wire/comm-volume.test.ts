import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path/posix";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { PodUid } from "../../src/core/names.ts";
import { Directory } from "../../src/linux/directory.ts";
import { commDir } from "../../src/node/domain/target-path.ts";
import { type CommVolume, commVolumes } from "../../src/node/mounts/comm-volume.ts";
import { thisKernel } from "../../src/node/mounts/kernel.ts";

const pod = "uid-1" as PodUid;
const fsGroup = 1000;

const kernel = thisKernel();
let kubeletDir: string;
let directory: string;

/** A file system in memory that is there on every Linux, as the volume of a Mountpoint Pod is. */
beforeEach(() => {
  kubeletDir = mkdtempSync("/dev/shm/comm-volume-");
  directory = commDir(kubeletDir, pod);
  mkdirSync(directory, { recursive: true });
  chownSync(directory, 0, fsGroup);
});

afterEach(() => rmSync(kubeletDir, { recursive: true }));

function open(): CommVolume {
  const volume = commVolumes(kubeletDir, kernel).open(pod);
  if (volume === undefined) throw new Error("there is no volume");
  return volume;
}

it("does not open before kubelet has made the volume", () => {
  expect(commVolumes(kubeletDir, kernel).open("another" as PodUid)).toBeUndefined();
});

it("does not open a directory on a disk, so that no key is written to it", () => {
  // The checkout, in contrast to the directory for temporary files, is in memory nowhere.
  const onDisk = mkdtempSync(join(import.meta.dirname, "comm-volume-"));
  try {
    mkdirSync(commDir(onDisk, pod), { recursive: true });
    expect(commVolumes(onDisk, kernel).open(pod)).toBeUndefined();
  } finally {
    rmSync(onDisk, { recursive: true });
  }
});

it("notifies listeners when a file appears, until they unsubscribe", async () => {
  const heard = Promise.withResolvers<string>();
  const subscription = commVolumes(kubeletDir, kernel).subscribe(pod, () => heard.resolve("something changed"));
  writeFileSync(join(directory, ".mount.sock.new"), "");
  renameSync(join(directory, ".mount.sock.new"), join(directory, "mount.sock"));
  await expect(heard.promise).resolves.toBe("something changed");
  subscription[Symbol.dispose]();
});

it("writes credentials that only root and the Pod's group can read, and only files that changed", () => {
  using volume = open();
  expect(volume.credentialsChangedAt()).toBeUndefined();
  volume.writeCredentials({ config: "[profile]\n", keys: "first\n" });
  const path = (name: string) => join(directory, "credentials", name);
  const shape = (name: string) => {
    const { uid, gid, mode, ino } = lstatSync(path(name));
    return { uid, gid, mode: mode & 0o7777, ino };
  };
  const before = { config: shape("config"), keys: shape("keys") };
  expect(before.keys).toMatchObject({ uid: 0, gid: fsGroup, mode: 0o640 });
  expect(lstatSync(join(directory, "credentials")).mode & 0o7777).toBe(0o750);

  volume.writeCredentials({ config: "[profile]\n", keys: "first\n" });
  expect({ config: shape("config"), keys: shape("keys") }).toEqual(before);
  volume.writeCredentials({ config: "[profile]\n", keys: "firs\n" });
  expect(shape("config").ino).toBe(before.config.ino);
  expect(shape("keys").ino).not.toBe(before.keys.ino);
  expect(readFileSync(path("keys"), "utf8")).toBe("firs\n");
  expect(volume.credentialsChangedAt()).toEqual(lstatSync(path("keys")).mtime);
  expect(readdirSync(join(directory, "credentials")).toSorted()).toEqual(["config", "keys"]);
});

it("reads when credentials were written once, and again after it has written some", () => {
  const volumes = commVolumes(kubeletDir, kernel);
  expect(volumes.credentialsChangedAt(pod)).toBeUndefined();
  const keys = join(directory, "credentials/keys");
  const write = (content: string) => {
    using volume = volumes.open(pod);
    volume?.writeCredentials({ keys: content });
  };
  write("first\n");
  utimesSync(keys, 1000, 1000);
  expect(volumes.credentialsChangedAt(pod)).toEqual(new Date(1_000_000));
  const reads = vi.spyOn(Directory, "open");
  expect(volumes.credentialsChangedAt(pod)).toEqual(new Date(1_000_000));
  expect(reads).not.toHaveBeenCalled();
  reads.mockRestore();
  write("first\n");
  expect(volumes.credentialsChangedAt(pod)).toEqual(new Date(1_000_000));
  write("second\n");
  expect(volumes.credentialsChangedAt(pod)).toEqual(lstatSync(keys).mtime);
});

it("reads the age of credentials without changing the directory, and of a bounded number of files", () => {
  using volume = open();
  volume.writeCredentials({ keys: "first\n" });
  const credentials = join(directory, "credentials");
  for (let index = 0; index < 40; index += 1) writeFileSync(join(credentials, `extra-${index}`), "");
  chmodSync(credentials, 0o700);
  const seen = vi.spyOn(Directory.prototype, "changedAt");
  expect(volume.credentialsChangedAt()).toBeInstanceOf(Date);
  expect(seen).toHaveBeenCalledTimes(16);
  seen.mockRestore();
  expect(lstatSync(credentials).mode & 0o7777).toBe(0o700);
});

it("writes the exit file once", () => {
  using volume = open();
  volume.askToExit();
  const { ino } = lstatSync(join(directory, "mount.exit"));
  volume.askToExit();
  expect(lstatSync(join(directory, "mount.exit")).ino).toBe(ino);
});

it("reads only the end of an error file", () => {
  using volume = open();
  expect(volume.errorText()).toBeUndefined();
  writeFileSync(join(directory, "mount.err"), `${"x".repeat(10_000_000)}Error: the end\n`);
  expect(volume.errorText()).toHaveLength(4096);
  expect(volume.errorText()).toMatch(/Error: the end\n$/);
});

it("connects when a mounter listens, and returns undefined for a socket without a listener", async () => {
  using volume = open();
  expect(volume.connect()).toBeUndefined();
  const socket = join(directory, "mount.sock");
  const server = createServer().listen(socket);
  await once(server, "listening");
  using connection = volume.connect();
  expect(connection).toBeDefined();
  const [peer] = (await once(server, "connection")) as [{ destroy(): void }];
  peer.destroy();
  await expect(connection?.closed).resolves.toBe("byPeer");
  server.close();
  await once(server, "close");
  // A killed mounter leaves the socket file without a listener.
  const dead = createServer().listen(`${socket}.other`);
  await once(dead, "listening");
  linkSync(`${socket}.other`, socket);
  dead.close();
  await once(dead, "close");
  expect(volume.connect()).toBeUndefined();
});

it("MP-7 connects to a socket whose path is longer than a socket address", async () => {
  const long = join(kubeletDir, "x".repeat(100));
  mkdirSync(commDir(long, pod), { recursive: true });
  expect(Buffer.byteLength(join(commDir(long, pod), "mount.sock"))).toBeGreaterThan(107);
  // The mounter has a short path to the same directory.
  const short = join(kubeletDir, "s");
  symlinkSync(commDir(long, pod), short);
  const server = createServer().listen(join(short, "mount.sock"));
  await once(server, "listening");
  using volume = commVolumes(long, kernel).open(pod);
  const accepted = once(server, "connection");
  using connection = volume?.connect();
  expect(connection).toBeDefined();
  const [peer] = (await accepted) as [{ destroy(): void }];
  peer.destroy();
  server.close();
  await once(server, "close");
});
