/**
 * Brings docs/requirements.md up to date: for each requirement, the tests that carry its id in their names. A title is
 * written by hand, the rest is found. Only rings with the real thing count as proof; unit tests alone do not.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const checkout = join(import.meta.dirname, "..");
export const requirementsFile = join(checkout, "docs", "requirements.md");

const provingFolders = ["test/wire", "test/chart", "test/cluster", "test/node", "test/stores"];
/** A text that begins with ids, as the first argument of a call: the table of an `it.for` in front of it may be anything. */
const testName = /\(\s*["'`]([A-Z]{2}-\d+(?:, [A-Z]{2}-\d+)*) /g;

/** Id of a requirement → files with a test of that name. */
export function provingTests(): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  for (const file of provingFolders.flatMap((folder) => testFiles(join(checkout, folder)))) {
    for (const [, ids = ""] of readFileSync(file, "utf8").matchAll(testName)) {
      for (const id of ids.split(", ")) {
        found.set(id, (found.get(id) ?? new Set()).add(relative(checkout, file)));
      }
    }
  }
  return new Map([...found].map(([id, files]) => [id, [...files].toSorted()]));
}

const row = /^\| ([A-Z]{2}-\d+) \| ([^|]*) \|.*$/;

/** A point of the document's list of what is missing. */
const missing = /^- ([A-Z]{2}-\d+): /gm;

/** The document with the columns "test" and "state" as they are now. */
export function updated(document: string, tests: ReadonlyMap<string, readonly string[]>): string {
  const unfinished = new Set([...document.matchAll(missing)].map(([, id]) => id));
  const stateOf = (id: string) => (unfinished.has(id) ? "tested, see below" : "proven");
  const lines = document.split("\n").map((line) => {
    const [, id, title] = row.exec(line) ?? [];
    if (id === undefined || title === undefined) return line;
    const files = tests.get(id) ?? [];
    const links = files.map((file) => `[${file}](../${file})`).join("<br>");
    return `| ${id} | ${title} | ${links || "–"} | ${files.length > 0 ? stateOf(id) : "open"} |`;
  });
  return lines.join("\n");
}

/** Ids that a test claims and the document does not know. */
export function unknownIds(document: string, tests: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const known = new Set(document.split("\n").map((line) => row.exec(line)?.[1]));
  return [...tests.keys()].filter((id) => !known.has(id));
}

function testFiles(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".test.ts")).map((name) => join(folder, name));
}

if (import.meta.main) {
  writeFileSync(requirementsFile, updated(readFileSync(requirementsFile, "utf8"), provingTests()));
}
