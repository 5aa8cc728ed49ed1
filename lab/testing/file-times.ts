/** How long each test file took when it last ran, so that the longest can be started first. */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isErrno } from "../../src/runtime/errno.ts";
import { cacheDirectory } from "../cache.ts";
import type { FileTime } from "./results.ts";

type Seconds = Readonly<Record<string, number>>;

const file = () => join(cacheDirectory(), "test-times.json");

export async function readTimes(): Promise<Seconds> {
  try {
    return JSON.parse(await readFile(file(), "utf8")) as Seconds;
  } catch (error) {
    if (isErrno(error, "ENOENT") || error instanceof SyntaxError) return {};
    throw error;
  }
}

/** Files that did not run keep their time. */
export async function keepTimes(times: readonly FileTime[]): Promise<void> {
  const all = { ...(await readTimes()), ...Object.fromEntries(times.map((one) => [one.file, one.seconds])) };
  await mkdir(dirname(file()), { recursive: true });
  const written = `${file()}.${process.pid}`;
  await writeFile(written, JSON.stringify(all));
  await rename(written, file());
}

/** A long file that starts last is waited for alone. Files without a known time come first: they may be long. */
export function longestFirst(files: readonly string[], times: Seconds): readonly string[] {
  const secondsOf = (one: string) => times[one] ?? Number.POSITIVE_INFINITY;
  return files.toSorted((a, b) => compare(secondsOf(b), secondsOf(a)) || a.localeCompare(b));
}

/** Infinity minus Infinity is no number. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}

/** A table of where the time of the longer files went, the longest first; empty if there are none. */
export function timeTable(times: readonly FileTime[]): string {
  const shown = times.filter(({ seconds }) => seconds >= shownFromSeconds).toSorted((a, b) => b.seconds - a.seconds);
  const rows = shown.map(({ file: name, seconds, testCpuSeconds, labCpuSeconds }) =>
    [seconds, Math.max(0, seconds - testCpuSeconds), testCpuSeconds, labCpuSeconds].map(cell).concat(name).join("  "),
  );
  if (rows.length === 0) return "";
  return ["── time per file, in seconds ──", "   run  waited  CPU test  CPU lab", ...rows].join("\n").concat("\n");
}

const shownFromSeconds = 10;

function cell(seconds: number): string {
  return seconds.toFixed(0).padStart(6);
}
