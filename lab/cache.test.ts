import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { cached, keyOf } from "./cache.ts";

let directory: string;
const never = new AbortController().signal;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "s3-csi-cache-"));
  process.env["S3_CSI_LAB_CACHE"] = directory;
});

afterEach(async () => {
  delete process.env["S3_CSI_LAB_CACHE"];
  await rm(directory, { recursive: true, force: true });
});

const artifact = (key: string, build: (into: string) => Promise<void>) => ({ name: "thing", key, build });

it("builds once per key, whoever asks at the same time", async () => {
  let builds = 0;
  const thing = artifact("k1", async (into) => {
    builds += 1;
    await writeFile(join(into, "file"), "content");
  });
  const places = await Promise.all([cached(never, thing), cached(never, thing), cached(never, thing)]);
  expect(builds).toBe(1);
  expect(new Set(places).size).toBe(1);
  expect(await readFile(join(places[0] ?? "", "file"), "utf8")).toBe("content");
});

it("a failed build counts for nothing, and the next one starts from empty", async () => {
  const failing = artifact("k1", async (into) => {
    await writeFile(join(into, "half"), "");
    throw new Error("no space");
  });
  await expect(cached(never, failing)).rejects.toThrow("no space");
  const place = await cached(
    never,
    artifact("k1", (into) => writeFile(join(into, "whole"), "")),
  );
  expect(await readdir(place)).toEqual(["whole"]);
});

const make = (key: string) =>
  cached(
    never,
    artifact(key, () => Promise.resolve()),
  );

it("keeps the latest three keys, and those that were asked for in the last hours", async () => {
  const yesterday = new Date(Date.now() - 24 * 3_600_000);
  for (const key of ["a", "b", "c", "d"]) await utimes(await make(key), yesterday, yesterday);
  await make("b");
  await make("e");
  const kept = await readdir(join(directory, "thing"));
  expect(kept).toHaveLength(3);
  expect(kept).toEqual(expect.arrayContaining(["b", "e"]));
  await make("f");
  await make("g");
  expect(await readdir(join(directory, "thing"))).toEqual(expect.arrayContaining(["b", "e", "f", "g"]));
});

it("a key changes with names, content and words, and with nothing else", async () => {
  const file = join(directory, "source");
  await writeFile(file, "one");
  const first = await keyOf([file], ["flag"]);
  expect(await keyOf([file], ["flag"])).toBe(first);
  expect(await keyOf([file], ["other"])).not.toBe(first);
  await writeFile(file, "two");
  expect(await keyOf([file], ["flag"])).not.toBe(first);
});
