/**
 * The code blocks of the documentation. Behind the language stands what becomes of a block: `sh run` is run by the node ring as it
 * is written, `sh not run: WHY` is not; `text printed` is what the block before it prints. `yaml objects` is tried on an API server,
 * `yaml values` on the chart, both by the cluster ring; `yaml not tried: WHY` is not.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

const checkout = join(import.meta.dirname, "../..");

export interface DocBlock {
  readonly file: string;
  /** Of its first fence. */
  readonly line: number;
  readonly language: string;
  /** What stands behind the language. */
  readonly said: string;
  readonly text: string;
}

export function documents(): readonly string[] {
  const folders = ["docs", "examples", "bench", "test"].map((folder) => join(checkout, folder));
  const inFolders = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
  );
  const atTop = readdirSync(checkout).map((name) => join(checkout, name));
  const files = [...atTop, ...inFolders].filter((name) => name.endsWith(".md"));
  return files.map((name) => relative(checkout, name)).toSorted();
}

export function blocksIn(file: string): readonly DocBlock[] {
  return parseBlocks(file, readFileSync(join(checkout, file), "utf8"));
}

/** A block may be indented, as part of a list; its lines are then, too. */
const pattern = /^( *)```(.*)\n([\s\S]*?)^\1```$/gm;

export function parseBlocks(file: string, document: string): readonly DocBlock[] {
  return [...document.matchAll(pattern)].map(({ index, [1]: indent = "", [2]: info = "", [3]: lines = "" }) => {
    const [language = "", ...said] = info.trim().split(" ");
    const text = lines.replaceAll(new RegExp(`^${indent}`, "gm"), "").trimEnd();
    return { file, line: document.slice(0, index).split("\n").length, language, said: said.join(" "), text };
  });
}

const anything = { pattern: /^/, advice: "" };

const rules: Readonly<Record<string, { readonly pattern: RegExp; readonly advice: string }>> = {
  sh: { pattern: /^(run|not run: \S.*)$/, advice: 'commands are marked "sh run" or "sh not run: WHY"' },
  yaml: {
    pattern: /^(objects|values|not tried: \S.*)$/,
    advice: 'YAML is marked "yaml objects", "yaml values" or "yaml not tried: WHY"',
  },
};

/** What is wrong with how a block is marked; undefined if nothing is. */
export function problemOf({ file, line, language, said }: DocBlock): string | undefined {
  const at = `${file}:${line}:`;
  if (language === "") return `${at} say behind the fence what this is: sh, yaml, text, …`;
  const { pattern: marks, advice } = rules[language] ?? anything;
  return marks.test(said) ? undefined : `${at} ${advice}`;
}
