import { existsSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { buildNative } from "../../scripts/native.ts";
import { Directory } from "../../src/linux/directory.ts";
import { connect } from "../../src/linux/socket/fd-sender.ts";
import { compileFixture } from "./fixture-programs.ts";
import { MounterProcess } from "./mounter-process.ts";
import { linkOf, procFile, sendTo } from "./mounter-stage.ts";

const waitForMount = fileURLToPath(new URL("../../native/wait-for-mount", import.meta.url));

let root: string;
let commDir: string;
let socket: string;

beforeAll(() => {
  buildNative();
  root = mkdtempSync(join(tmpdir(), "waiting-mounter-"));
  mkdirSync(join(root, "bin"));
  compileFixture("mount-s3", join(root, "bin"));
});

beforeEach(() => {
  commDir = mkdtempSync(join(root, "comm-"));
  socket = join(commDir, "mount.sock");
});

afterAll(() => rmSync(root, { recursive: true }));

async function listening(): Promise<void> {
  await expect.poll(() => existsSync(socket), { timeout: 20_000 }).toBe(true);
}

async function begun(mounter: MounterProcess): Promise<void> {
  await expect.poll(() => mounter.stdout, { timeout: 20_000 }).toBe(`begun as ${mounter.pid}\n`);
}

/** As a Mountpoint Pod without a volume: the mounter starts with the first connection. */
function startWaiting(...flags: string[]): MounterProcess {
  return new MounterProcess(
    [`--comm-dir=${commDir}`, `--mountpoint-bin-dir=${join(root, "bin")}`, ...flags],
    [waitForMount, commDir],
  );
}

const programOf = ({ pid }: MounterProcess) => readlinkSync(`/proc/${pid}/exe`);

it("WM-1 waits in a small program, and becomes the mounter and then mount-s3 with the first connection", async () => {
  await using mounter = startWaiting();
  await listening();
  expect(programOf(mounter)).toBe(waitForMount);
  const residentKb = Number(/^VmRSS:\s+(\d+) kB$/m.exec(procFile(mounter.pid, "status"))?.[1]);
  expect(residentKb).toBeLessThan(4096);
  using _connection = sendTo(commDir);
  await begun(mounter);

  const inherited = new Set(readdirSync("/proc/self/fd").map((fd) => linkOf(`/proc/self/fd/${fd}`)));
  const fds = readdirSync(`/proc/${mounter.pid}/fd`).filter((fd) => Number(fd) > 2);
  const links = fds.map((fd) => linkOf(`/proc/${mounter.pid}/fd/${fd}`)).filter((link) => !inherited.has(link));
  // The connection, and not the socket that listened.
  expect(links.map((link) => link.replace(/\d+/, "N")).toSorted()).toEqual(["/dev/fuse", "socket:[N]"]);
  expect(procFile(mounter.pid, "cmdline")).toMatch(/mount-s3\0photos\0\/dev\/fd\/\d+\0--allow-root\0/);
  expect(readlinkSync(`/proc/${mounter.pid}/cwd`)).toBe(process.cwd());
  expect(existsSync(socket)).toBe(false);
});

it("WM-1 closes the connection to the node with the death of a mount-s3 that has waited", async () => {
  await using mounter = startWaiting();
  await listening();
  using connection = sendTo(commDir);
  await begun(mounter);
  mounter.kill("SIGKILL");
  await expect(connection.closed).resolves.toBe("byPeer");
});

it("WM-1 a waiting program listens although a killed predecessor left its socket", async () => {
  const first = startWaiting();
  await listening();
  first.kill("SIGKILL");
  await first.end();
  await using mounter = startWaiting();
  await expect.poll(() => mounter.stderr, { timeout: 20_000 }).toContain("waiting for a volume");
  using _connection = sendTo(commDir);
  await begun(mounter);
});

it.for(["before its start", "while it waits"])(
  "WM-1 a waiting program exits with 0 for a mount.exit %s",
  async (when) => {
    if (when === "before its start") writeFileSync(join(commDir, "mount.exit"), "");
    await using mounter = startWaiting();
    if (when === "while it waits") {
      await listening();
      writeFileSync(join(commDir, "mount.exit"), "");
    }
    await expect(mounter.end()).resolves.toBe(0);
    expect(existsSync(socket)).toBe(false);
  },
);

it("WM-1 a waiting program ends at once with SIGTERM", async () => {
  await using mounter = startWaiting();
  await listening();
  mounter.kill("SIGTERM");
  await expect(mounter.end()).resolves.toBe(143);
});

it("WM-1 a mounter that has waited fails if no request follows the connection, so that kubelet starts the Pod again", async () => {
  await using mounter = startWaiting("--mount-sock-recv-timeout=1s");
  await listening();
  using directory = Directory.open(commDir);
  using _silent = connect(directory, "mount.sock");
  await expect(mounter.end()).resolves.toBe(1);
  expect(mounter.stderr).toContain("mount.sock");
});
