/** Artifacts kept outside the checkout, keyed by what they were built from, so that nothing is built twice. */
import { createHash, type Hash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { isErrno } from "../src/runtime/errno.ts";
import { lockFile } from "./lock-file.ts";

export function cacheDirectory(): string {
  return (
    process.env["S3_CSI_LAB_CACHE"] ?? join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "s3-csi-lab")
  );
}

export interface Artifact {
  readonly name: string;
  readonly key: string;
  /** Fills an empty directory. An interrupted build leaves nothing that counts. */
  build(into: string): Promise<void>;
}

/** The directory of an artifact, built at most once per key, whoever asks at the same time. */
export async function cached(signal: AbortSignal, artifact: Artifact): Promise<string> {
  const home = join(cacheDirectory(), artifact.name);
  const done = join(home, artifact.key);
  if (await isThere(done)) return done;
  await mkdir(home, { recursive: true });
  await using _lock = await lockFile(signal, join(home, "lock"));
  if (await isThere(done)) return done;
  const building = join(home, `${artifact.key}.building`);
  await rm(building, { recursive: true, force: true });
  await mkdir(building);
  await artifact.build(building);
  await rename(building, done);
  await removeOthers(home, artifact.key);
  return done;
}

/** Whoever asks needs it for a while: its time is that of the last question. */
async function isThere(done: string): Promise<boolean> {
  try {
    await utimes(done, new Date(), new Date());
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}

/** Two former keys are kept so that switching branches stays cheap. */
const keptGenerations = 3;
/** Another checkout may use it in a lab that runs. */
const inUseMs = 6 * 3_600_000;

async function removeOthers(home: string, key: string): Promise<void> {
  const names = (await readdir(home)).filter((name) => name !== key && name !== "lock");
  const aged = await Promise.all(names.map(async (name) => ({ name, at: (await stat(join(home, name))).mtimeMs })));
  const old = aged
    .toSorted((a, b) => b.at - a.at)
    .slice(keptGenerations - 1)
    .filter(({ at }) => Date.now() - at > inUseMs);
  await Promise.all(old.map(({ name }) => rm(join(home, name), { recursive: true, force: true })));
}

/** A key over file contents (whole trees for directories) and plain words such as flags and versions. */
export async function keyOf(paths: readonly string[], words: readonly string[] = []): Promise<string> {
  const hash = createHash("sha256");
  for (const word of words) hash.update(`${word}\0`);
  for (const path of paths) await addTree(hash, path, "");
  return hash.digest("hex").slice(0, 16);
}

const notSource = new Set(["node_modules", "target", ".git", "dist"]);

async function addTree(hash: Hash, root: string, relative: string): Promise<void> {
  const path = join(root, relative);
  if (!(await stat(path)).isDirectory()) {
    hash.update(`${relative}\0`).update(await readFile(path));
    return;
  }
  const names = (await readdir(path)).filter((name) => !notSource.has(name));
  for (const name of names.toSorted()) await addTree(hash, root, join(relative, name));
}
