import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { blocksIn, documents, parseBlocks, problemOf } from "./support/doc-blocks.ts";

const checkout = join(import.meta.dirname, "..");
const ring = readFileSync(join(checkout, "test/node/documented-commands.test.ts"), "utf8");

it("every code block of the documentation says what it is, and every command and all YAML whether it is tried", () => {
  const blocks = documents().flatMap(blocksIn);
  const fences = documents().flatMap((file) => readFileSync(join(checkout, file), "utf8").match(/^ *```/gm) ?? []);
  expect(fences.length).toBeGreaterThan(40);
  expect(fences).toHaveLength(2 * blocks.length);
  expect(blocks.flatMap((block) => problemOf(block) ?? [])).toEqual([]);
});

it("every document with commands that are run is among those that the node ring runs", () => {
  const withCommands = documents().filter((file) => blocksIn(file).some(({ said }) => said === "run"));
  expect(withCommands.length).toBeGreaterThan(5);
  expect(withCommands.filter((file) => !ring.includes(`"${file}"`))).toEqual([]);
});

it("a block ends at its own fence, loses its indentation, and is judged by what stands behind the language", () => {
  const document = [
    "1. Do this:",
    "   ```sh run",
    "   a \\",
    "     b",
    "   ```",
    "```sh",
    "c",
    "```",
    "```",
    "```",
    "```yaml",
    "d: e",
    "```",
    "```yaml values",
    "d: e",
    "```",
  ].join("\n");
  const blocks = parseBlocks("x.md", document);
  expect(blocks.map(({ line, text }) => ({ line, text }))).toEqual([
    { line: 2, text: "a \\\n  b" },
    { line: 6, text: "c" },
    { line: 9, text: "" },
    { line: 11, text: "d: e" },
    { line: 14, text: "d: e" },
  ]);
  expect(blocks.map(problemOf)).toEqual([
    undefined,
    'x.md:6: commands are marked "sh run" or "sh not run: WHY"',
    "x.md:9: say behind the fence what this is: sh, yaml, text, …",
    'x.md:11: YAML is marked "yaml objects", "yaml values" or "yaml not tried: WHY"',
    undefined,
  ]);
});
