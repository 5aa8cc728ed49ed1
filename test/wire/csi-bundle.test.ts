import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { bundle, smallProcess } from "../../scripts/bundle.ts";
import { IdentityService } from "../../src/csi/gen/csi.ts";
import { csiClient } from "../support/csi-client.ts";

it("serves from a single bundle with the settings of the image, and ends on SIGTERM", async () => {
  await using undo = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), "csi-"));
  undo.defer(() => rm(dir, { recursive: true }));
  const socket = join(dir, "csi.sock");
  await bundle([join(import.meta.dirname, "../fixtures/csi-server.ts")], dir);

  const program = [join(dir, "csi-server.mjs"), `unix:${socket}`];
  const server = spawn(process.execPath, [...smallProcess, ...program], { cwd: dir, stdio: "inherit", env: {} });
  const ended = once(server, "exit");
  undo.defer(() => void server.kill("SIGKILL"));
  await expect.poll(() => existsSync(socket), { timeout: 20_000 }).toBe(true);
  using client = csiClient(IdentityService, `unix:${socket}`);
  await expect(client.getPluginInfo({})).resolves.toMatchObject({ vendorVersion: manifest.version });

  server.kill("SIGTERM");
  await expect(ended).resolves.toEqual([0, null]);
  expect(existsSync(socket)).toBe(false);
});
