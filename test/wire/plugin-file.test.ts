/** The file that `npm run plugin` makes, by the Node of this project; the node ring runs it by the oldest that it supports. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { buildPlugin } from "../../scripts/plugin.ts";

it("OP-5 kubectl s3 prints what it was asked for, and no warnings of Node", async () => {
  const directory = mkdtempSync(join(tmpdir(), "kubectl-s3-"));
  try {
    const file = await buildPlugin(directory);
    const { stdout, stderr, status } = spawnSync(process.execPath, [file, "--version"], { encoding: "utf8" });
    expect({ stdout, stderr, status }).toEqual({ stdout: `${manifest.version}\n`, stderr: "", status: 0 });
  } finally {
    rmSync(directory, { recursive: true });
  }
});
