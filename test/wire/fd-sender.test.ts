import { spawn } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { buildNative } from "../../scripts/native.ts";
import { Directory } from "../../src/linux/directory.ts";
import { openFuse } from "../../src/linux/fuse/fuse.ts";
import { listen, readToEnd } from "../../src/linux/socket/fd-receiver.ts";
import { connect } from "../../src/linux/socket/fd-sender.ts";
import { silentLogger } from "../../src/runtime/log.ts";
import { compileFixture } from "./fixture-programs.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const message = new TextEncoder().encode('{"bucketName":"photos"}');

let root: string;
let peer: string;
let path: string;

beforeAll(() => {
  buildNative();
  root = mkdtempSync(join(tmpdir(), "fd-sender-"));
  peer = compileFixture("peer", root);
});

beforeEach(() => {
  path = mkdtempSync(join(root, "comm-"));
});

afterAll(() => rmSync(root, { recursive: true }));

it("works with a mounter of 2.x, which reads to end-of-file and closes at once", async () => {
  const mounter = spawn(peer, ["receive", join(path, "mount.sock")], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface(mounter.stdout)[Symbol.asyncIterator]();
  expect((await lines.next()).value).toBe("listening");

  using directory = Directory.open(path);
  using fuse = openFuse();
  using connection = connect(directory, "mount.sock");
  connection.send(message, fuse);

  expect((await lines.next()).value).toBe('1 descriptors with {"bucketName":"photos"}');
  await expect(connection.closed).resolves.toBe("byPeer");
});

it("connects to a socket whose path is longer than the kernel's 107 bytes", async () => {
  const long = join(path, "x".repeat(120));
  mkdirSync(long);
  using directory = Directory.open(long);
  using fuse = openFuse();
  using listener = listen(directory, "mount.sock");
  using connection = connect(directory, "mount.sock");
  connection.send(message, fuse);

  using accepted = await listener.accept(call);
  const received = await readToEnd(call, accepted, 1000);
  using _device = received.descriptors[0];
  expect(received.bytes.toString()).toBe('{"bucketName":"photos"}');
});

it("reports the end of the connection after shutting down its write side", async () => {
  using directory = Directory.open(path);
  using fuse = openFuse();
  using listener = listen(directory, "mount.sock");
  using connection = connect(directory, "mount.sock");
  connection.send(message, fuse);
  {
    using accepted = await listener.accept(call);
    for (const descriptor of (await readToEnd(call, accepted, 1000)).descriptors) descriptor[Symbol.dispose]();
    const tooEarly = Symbol("still open");
    expect(await Promise.race([connection.closed, new Promise((resolve) => setImmediate(resolve, tooEarly))])).toBe(
      tooEarly,
    );
  }
  await expect(connection.closed).resolves.toBe("byPeer");
});

it("distinguishes its own close from the peer's", async () => {
  using directory = Directory.open(path);
  using _listener = listen(directory, "mount.sock");
  const connection = connect(directory, "mount.sock");
  connection[Symbol.dispose]();
  await expect(connection.closed).resolves.toBe("byUs");
});

it("refuses to send on a closed connection, whose descriptor number may belong to another file", async () => {
  using directory = Directory.open(path);
  using fuse = openFuse();
  using connection = (() => {
    using _listener = listen(directory, "mount.sock");
    return connect(directory, "mount.sock");
  })();
  await connection.closed;
  expect(() => connection.send(message, fuse)).toThrow("the Mountpoint Pod closed its socket");
});

it("does not follow a symbolic link to a socket", () => {
  const elsewhere = mkdtempSync(join(root, "elsewhere-"));
  using other = Directory.open(elsewhere);
  using _listener = listen(other, "host.sock");
  symlinkSync(join(elsewhere, "host.sock"), join(path, "mount.sock"));
  using directory = Directory.open(path);
  expect(() => connect(directory, "mount.sock")).toThrow("mount.sock is not a socket");
});

it("does not connect to a file that is not a socket", () => {
  writeFileSync(join(path, "mount.sock"), "");
  using directory = Directory.open(path);
  expect(() => connect(directory, "mount.sock")).toThrow("mount.sock is not a socket");
});

it.for([
  { when: "there is no socket", isOrphaned: false, code: "ENOENT" },
  { when: "the listener has died", isOrphaned: true, code: "ECONNREFUSED" },
])("throws $code when $when", ({ isOrphaned, code }) => {
  using directory = Directory.open(path);
  if (isOrphaned) leaveSocketBehind(directory);
  expect(() => connect(directory, "mount.sock")).toThrow(expect.objectContaining({ code }));
});

/** As after kill -9: the file stays, the listener is gone. */
function leaveSocketBehind(directory: Directory): void {
  using _listener = listen(directory, "other.sock");
  linkSync(directory.pathOf("other.sock"), directory.pathOf("mount.sock"));
}
