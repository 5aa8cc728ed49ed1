/** `kubectl s3` in a real terminal: tmux keeps the screen, as a person would see it. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { buildPlugin } from "../../scripts/plugin.ts";
import { FakeApiServer } from "../support/fake-api-server.ts";
import { kubeconfigFor } from "../support/fake-kubeconfig.ts";

const long = { timeout: 30_000 };
let directory = "";
let plugin = "";

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "plugin-terminal-"));
  plugin = await buildPlugin(directory);
});

afterAll(() => rmSync(directory, { recursive: true }));

function volume(name: string): object {
  return {
    metadata: { name, uid: name, creationTimestamp: "2026-01-01T00:00:00Z", resourceVersion: "1" },
    spec: { csi: { driver: "s3.csi.scality.com", volumeHandle: name, volumeAttributes: { bucketName: "photos" } } },
    status: { phase: "Available" },
  };
}

/** A terminal of 80 by 12 with one command in it. */
class Terminal implements AsyncDisposable {
  readonly api = new FakeApiServer();
  readonly #socket = join(directory, `tmux-${Math.random()}`);

  static async open(volumes: readonly object[], args: string, environment = ""): Promise<Terminal> {
    const terminal = new Terminal();
    terminal.api.volumes = [...volumes];
    await terminal.api.start();
    const kubeconfig = join(directory, `kubeconfig-${terminal.api.port}`);
    writeFileSync(kubeconfig, JSON.stringify(kubeconfigFor(terminal.api.port)));
    const command = `${environment} ${process.execPath} ${plugin} ${args} --kubeconfig ${kubeconfig}; echo "ended with $?"; cat`;
    terminal.#tmux("new-session", "-d", "-x", "80", "-y", "12", command);
    return terminal;
  }

  get screen(): string {
    return this.#tmux("capture-pane", "-p");
  }

  get screenWithColours(): string {
    return this.#tmux("capture-pane", "-p", "-e");
  }

  interrupt(): void {
    this.#tmux("send-keys", "C-c");
  }

  #tmux(...args: readonly string[]): string {
    return execFileSync("tmux", ["-S", this.#socket, "-f", "/dev/null", ...args], { encoding: "utf8" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#tmux("kill-server");
    await this.api.stop();
  }
}

it("OP-5 watch follows what changes, outlives the API server, and ends with Ctrl-C", async () => {
  await using terminal = await Terminal.open([volume("first")], "watch");
  const { api } = terminal;
  await expect.poll(() => terminal.screen, long).toMatch(/^first {2}no claim {2}s3:\/\/photos\/ {2}idle\n\nfake {2}20/);
  await expect.poll(() => api.watched.length, long).toBe(3);
  api.volumes = [volume("first"), volume("second")];
  api.send("persistentvolumes", "ADDED", volume("second"));
  await expect.poll(() => terminal.screen, long).toMatch(/^first .*\nsecond .*idle\n\nfake/);

  await api.stop();
  await expect
    .poll(() => terminal.screen, long)
    .toMatch(/^first .*\nsecond .*\n\nfake.*\n! out of date: .*does not answer/);
  api.volumes = [volume("third")];
  await api.start();
  await expect.poll(() => terminal.screen, long).toMatch(/^third .*\n\nfake[^!]*$/);

  api.volumes = Array.from({ length: 40 }, (_, at) => volume(`many-${String(at).padStart(2, "0")}`));
  await expect.poll(() => api.watched.length, long).toBe(3);
  api.send("persistentvolumes", "ADDED", volume("many-00"));
  await expect.poll(() => terminal.screen, long).toMatch(/^many-00 [\s\S]*\n… 32 more lines: kubectl s3 tree\n\nfake/);

  terminal.interrupt();
  await expect.poll(() => terminal.screen, long).toContain("ended with 0");
});

it("OP-5 colours are for a terminal, unless NO_COLOR turns them off", async () => {
  await using coloured = await Terminal.open([volume("data")], "list");
  await expect.poll(() => coloured.screen, long).toContain("ended with 0");
  expect(coloured.screen).toMatch(/VOLUME +CLAIM[\s\S]*data +[\s\S]*idle/);
  expect(coloured.screenWithColours).toContain("\u001B[");

  await using plain = await Terminal.open([volume("data")], "list", "NO_COLOR=1");
  await expect.poll(() => plain.screen, long).toContain("ended with 0");
  expect(plain.screenWithColours).not.toContain("\u001B[");
});
