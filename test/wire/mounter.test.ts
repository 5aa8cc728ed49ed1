import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { promisify } from "node:util";
import { afterAll, afterEach, assert, beforeAll, beforeEach, expect, it, vi } from "vitest";
import { buildNative } from "../../scripts/native.ts";
import { Directory } from "../../src/linux/directory.ts";
import { connect } from "../../src/linux/socket/fd-sender.ts";
import { compileFixture } from "./fixture-programs.ts";
import { MounterProcess } from "./mounter-process.ts";
import { linkOf, procFile, request, sendTo } from "./mounter-stage.ts";

const run = promisify(execFile);

let root: string;
let peer: string;
let commDir: string;
let socket: string;
let descriptorsBefore: readonly string[];

beforeAll(() => {
  buildNative();
  root = mkdtempSync(join(tmpdir(), "mounter-"));
  mkdirSync(join(root, "bin"));
  compileFixture("mount-s3", join(root, "bin"));
  peer = compileFixture("peer", root);
});

beforeEach(() => {
  commDir = mkdtempSync(join(root, "comm-"));
  socket = join(commDir, "mount.sock");
  descriptorsBefore = openDescriptors();
});

/** Sockets close in the next turn of the event loop, so this is a poll. */
afterEach(() => vi.waitFor(() => assert.deepEqual(openDescriptors(), descriptorsBefore), { timeout: 30_000 }));

afterAll(() => rmSync(root, { recursive: true }));

/** What this process has open of the kinds that the code under test opens. */
function openDescriptors(): readonly string[] {
  const links = readdirSync("/proc/self/fd").map((fd) => linkOf(`/proc/self/fd/${fd}`));
  return links.filter((link) => link.startsWith("socket:") || link === "/dev/fuse" || link.startsWith(root)).toSorted();
}

function startMounter(...flags: string[]): MounterProcess {
  return new MounterProcess([`--comm-dir=${commDir}`, `--mountpoint-bin-dir=${join(root, "bin")}`, ...flags]);
}

async function listening(): Promise<void> {
  await expect.poll(() => existsSync(socket), { timeout: 20_000 }).toBe(true);
}

async function begun(mounter: MounterProcess): Promise<void> {
  await expect.poll(() => mounter.stdout, { timeout: 20_000 }).toBe(`begun as ${mounter.pid}\n`);
}

/** The set of signals in a line of /proc/PID/status. */
function signalsIn(pid: number, line: string): (signal: number) => boolean {
  const mask = BigInt(`0x${new RegExp(`^${line}:\\s+(\\w+)$`, "m").exec(procFile(pid, "status"))?.[1]}`);
  return (signal) => ((mask >> BigInt(signal - 1)) & 1n) === 1n;
}

const [SIGHUP, SIGINT, SIGPIPE, SIGTERM, SIGXFSZ] = [1, 2, 13, 15, 25];
const O_NONBLOCK = 0o4000;

it("becomes mount-s3 with exactly the arguments, environment and descriptors that were sent", async () => {
  await using mounter = startMounter();
  await listening();
  using _connection = sendTo(commDir);
  await begun(mounter);

  const fds = readdirSync(`/proc/${mounter.pid}/fd`);
  const links = new Map(fds.map((fd) => [fd, readlinkSync(`/proc/${mounter.pid}/fd/${fd}`)]));
  const device = [...links].find(([, link]) => link === "/dev/fuse")?.[0];
  // What the test runner itself was started with is inherited by everybody.
  const inherited = new Set(readdirSync("/proc/self/fd").map((fd) => linkOf(`/proc/self/fd/${fd}`)));
  const added = [...links].filter(([fd, link]) => Number(fd) > 2 && !inherited.has(link));
  const program = join(root, "bin", "mount-s3");

  expect(added.map(([, link]) => link.replace(/\d+/, "N")).toSorted()).toEqual(["/dev/fuse", "socket:[N]"]);
  expect(procFile(mounter.pid, "cmdline").split("\0").slice(0, -1)).toEqual([
    program,
    "photos",
    `/dev/fd/${device}`,
    "--allow-root",
    "--prefix=a b/",
    "--foreground",
  ]);
  expect(procFile(mounter.pid, "environ")).toBe("FIXTURE=wait\0AWS_REGION=eu-west-1\0EMPTY=\0");
});

it("gives mount-s3 default signals and standard streams, but blocks the signals that terminate it", async () => {
  await using mounter = startMounter();
  await listening();
  using _connection = sendTo(commDir);
  await begun(mounter);

  const blocked = signalsIn(mounter.pid, "SigBlk");
  const ignored = signalsIn(mounter.pid, "SigIgn");
  expect([SIGTERM, SIGINT, SIGHUP].map(blocked)).toEqual([true, true, true]);
  expect([SIGPIPE, SIGXFSZ].map(ignored)).toEqual([false, false]);
  for (const fd of [0, 1, 2]) {
    const flags = /^flags:\s+(\d+)$/m.exec(procFile(mounter.pid, `fdinfo/${fd}`))?.[1] ?? "";
    expect(Number.parseInt(flags, 8) & O_NONBLOCK).toBe(0);
  }
});

it("closes the connection to the node with the death of mount-s3", async () => {
  await using mounter = startMounter();
  await listening();
  using connection = sendTo(commDir);
  await begun(mounter);
  mounter.kill("SIGKILL");
  await expect(connection.closed).resolves.toBe("byPeer");
});

it("exits with the code of mount-s3, whose error is in the log", async () => {
  await using mounter = startMounter();
  await listening();
  using connection = sendTo(commDir, { ...request, env: { FIXTURE: "exit=3" } });
  await expect(mounter.end()).resolves.toBe(3);
  await expect(connection.closed).resolves.toBe("byPeer");
  expect(mounter.stderr).toContain("Error: Failed to create mount process");
});

it("works with a node plugin of 2.x, which sends and then closes the connection", async () => {
  await using mounter = startMounter();
  await listening();
  const message = '{"bucketName":"old","args":null,"env":["FIXTURE=wait"],"later":1}';
  await run(peer, ["send", socket, message, "1"]);
  await begun(mounter);
  expect(procFile(mounter.pid, "cmdline")).toMatch(/mount-s3\0old\0\/dev\/fd\/\d+\0--foreground\0$/);
});

it("replaces the value of --cache by the cache volume, or else by a fresh directory", async () => {
  const cacheDir = mkdtempSync(join(root, "cache-"));
  expect(await cacheUsedWith(`--cache-dir=${cacheDir}`)).toBe(cacheDir);
  const fresh = await cacheUsedWith(`--cache-dir=${root}/none`);
  expect(readdirSync(fresh)).toEqual([]);
  rmSync(fresh, { recursive: true });
});

async function cacheUsedWith(flag: string): Promise<string> {
  await using mounter = startMounter(flag);
  await listening();
  using _connection = sendTo(commDir, { ...request, args: ["--cache=/home/me"] });
  await begun(mounter);
  return /--cache=([^\0]+)/.exec(procFile(mounter.pid, "cmdline"))?.[1] ?? "";
}

it.for([
  { what: "text that is not JSON", message: "hello", count: 1, says: "the mount request is not JSON" },
  { what: "a message without bucket", message: "{}", count: 1, says: "no valid bucketName" },
  { what: "no descriptor", message: '{"bucketName":"b"}', count: 0, says: "0 descriptors instead of one" },
  { what: "two descriptors", message: '{"bucketName":"b"}', count: 2, says: "2 descriptors instead of one" },
  { what: "too much", message: "x".repeat(70_000), count: 1, says: "longer than 65536 bytes" },
])("refuses $what, says so and fails", async ({ message, count, says }) => {
  await using mounter = startMounter();
  await listening();
  await run(peer, ["send", socket, message, String(count)]);
  await expect(mounter.end()).resolves.toBe(1);
  expect(mounter.stderr).toContain(says);
  expect(readdirSync(commDir)).toEqual([]);
});

it("names the missing program, and fails without a core dump", async () => {
  await using mounter = startMounter(`--mountpoint-bin-dir=${commDir}`);
  await listening();
  using _connection = sendTo(commDir);
  await expect(mounter.end()).resolves.toBe(1);
  expect(mounter.stderr).toContain(`${commDir}/mount-s3 cannot be run`);
});

it("keeps listening when a node closes the connection without a request", async () => {
  await using mounter = startMounter();
  await listening();
  await run(peer, ["send", socket, "", "0"]);
  await expect.poll(() => mounter.stderr, { timeout: 20_000 }).toContain("closed without a mount request");
  using _connection = sendTo(commDir);
  await begun(mounter);
});

it("MP-8 listens although a killed predecessor left its socket", async () => {
  {
    await using _killed = startMounter();
    await listening();
  }
  expect(() => sendTo(commDir)).toThrow("connection refused");
  await using mounter = startMounter();
  await expect.poll(() => tryToSend(), { timeout: 20_000 }).toBe(true);
  await begun(mounter);
});

function tryToSend(): boolean {
  try {
    sendTo(commDir)[Symbol.dispose]();
    return true;
  } catch {
    return false; // the mounter does not listen yet
  }
}

it("listens although a predecessor was killed before it listened", async () => {
  writeFileSync(join(commDir, ".mount.sock.new"), "");
  await using _mounter = startMounter();
  await listening();
  expect(readdirSync(commDir)).toEqual(["mount.sock"]);
});

it("exits with 0 and never listens if mount.exit exists at its start", async () => {
  writeFileSync(join(commDir, "mount.exit"), "");
  writeFileSync(join(commDir, ".mount.sock.new"), ""); // would not survive an attempt to listen
  await using mounter = startMounter();
  await expect(mounter.end()).resolves.toBe(0);
  expect(readdirSync(commDir)).toEqual([".mount.sock.new", "mount.exit"]);
});

it("exits with 0 when mount.exit appears while it waits", async () => {
  await using mounter = startMounter();
  await listening();
  using directory = Directory.open(commDir);
  directory.write("mount.exit", "", 0o640);
  await expect(mounter.end()).resolves.toBe(0);
  expect(readdirSync(commDir)).toEqual(["mount.exit"]);
});

it("exits with 0 when mount.exit appears while a silent node is connected", async () => {
  await using mounter = startMounter();
  await listening();
  using directory = Directory.open(commDir);
  using connection = connect(directory, "mount.sock");
  directory.write("mount.exit", "", 0o640);
  await expect(mounter.end()).resolves.toBe(0);
  await expect(connection.closed).resolves.toBe("byPeer");
});

it("notices mount.exit without inotify, whose instances are limited per user", async () => {
  const withoutInotify = 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"';
  const flags = [`--comm-dir=${commDir}`, `--mountpoint-bin-dir=${join(root, "bin")}`];
  await using mounter = new MounterProcess(flags, [
    "unshare",
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    withoutInotify,
    "sh",
  ]);
  await listening();
  expect(mounter.stderr).toContain("looking every second");
  writeFileSync(join(commDir, "mount.exit"), "");
  await expect(mounter.end()).resolves.toBe(0);
});

it.for([
  { signal: "SIGTERM", code: 143 },
  { signal: "SIGINT", code: 130 },
] as const)("ends at once on $signal while it waits, as a failure", async ({ signal, code }) => {
  await using mounter = startMounter();
  await listening();
  mounter.kill(signal);
  await expect(mounter.end()).resolves.toBe(code);
  expect(mounter.stderr).toContain(`received ${signal}`);
  expect(readdirSync(commDir)).toEqual([]);
});

it("fails when no request arrives within the limit", async () => {
  await using mounter = startMounter("--mount-sock-recv-timeout=50ms");
  await expect(mounter.end()).resolves.toBe(1);
  expect(mounter.stderr).toContain("gave up after 50 ms waiting for a mount request on mount.sock");
});
