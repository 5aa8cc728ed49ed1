import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const checkout = join(import.meta.dirname, "..");
const textsIn = (pattern: string) =>
  globSync(pattern, { cwd: checkout }).map((file) => readFileSync(join(checkout, file), "utf8"));

it("every log text that a benchmark waits for is one that the programs log", () => {
  const awaited = textsIn("bench/**/*.ts").flatMap((text) =>
    [...text.matchAll(/\b(?:line|log)\.includes\("([^"]+ [^"]+)"\)/g)].map(([, words = ""]) => words),
  );
  const logged = textsIn("src/**/*.ts").join("\n");
  expect(awaited.length).toBeGreaterThan(0);
  expect(awaited.filter((words) => !logged.includes(`log.info("${words}"`))).toEqual([]);
});
