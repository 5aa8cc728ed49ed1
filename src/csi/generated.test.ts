import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../..");

it("is what the specification generates", async () => {
  const fresh = await mkdtemp(join(tmpdir(), "proto-"));
  const bin = join(root, "node_modules/.bin");
  await promisify(execFile)(join(bin, "buf"), ["generate", "proto", "--template", "proto/buf.gen.yaml", "-o", fresh], {
    cwd: root,
    env: { PATH: `${bin}:/usr/bin:/bin`, HOME: fresh },
  });
  expect(await contents(join(root, "src/csi/gen"))).toEqual(await contents(join(fresh, "src/csi/gen")));
  await rm(fresh, { recursive: true });
}, 60_000);

async function contents(dir: string): Promise<Record<string, string>> {
  const files = (await readdir(dir, { recursive: true })).filter((name) => name.endsWith(".ts"));
  const texts = files.map(async (name) => [name, await readFile(join(dir, name), "utf8")] as const);
  return Object.fromEntries(await Promise.all(texts));
}
