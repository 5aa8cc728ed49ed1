/**
 * Breaks the code on purpose, one small place after the other, and names the changes that no unit test notices:
 * `node scripts/mutate.ts src/reconciler --every=4`. It works on a copy of what git knows; not in CI, because it takes a few
 * seconds for each change.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

interface Mutant {
  readonly file: string;
  /** The whole file, as it is without the change. */
  readonly text: string;
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

/** Each match of a pattern is one change. Operators stand between spaces, which type arguments and arrows do not. */
const changes: readonly (readonly [pattern: RegExp, to: string])[] = [
  [/ === /g, " !== "],
  [/ !== /g, " === "],
  [/ && /g, " || "],
  [/ \|\| /g, " && "],
  [/ < /g, " <= "],
  [/ <= /g, " < "],
  [/ > /g, " >= "],
  [/ >= /g, " > "],
  [/ \+ /g, " - "],
  [/ - /g, " + "],
  [/(?<=[\s([{])!(?=[\w(])/g, ""],
  [/\btrue\b/g, "false"],
  [/\bfalse\b/g, "true"],
  [/ \?\? [\w.[\]{}"]+/g, ""],
  [/\.filter\(/g, ".map("],
  [/\.some\(/g, ".every("],
  [/\.every\(/g, ".some("],
];

/** A guard, or a call for its effect, on a line of its own. */
const statement = /^\s+(if \(.*\) (return|throw|continue)\b.*;|(await )?[\w.#]+\(.*\);)$/;

/** Nothing in there decides anything. */
const quiet = /^\s*(import|export (type|interface)|readonly|\/\*\*|\*|\/\/|interface|type )|log\.(info|debug|error)\(/;

const checkout = join(import.meta.dirname, "..");
const limitMs = 180_000;

function mutantsIn(file: string): readonly Mutant[] {
  const text = readFileSync(join(checkout, file), "utf8");
  const lines = text.split("\n");
  return lines.flatMap((before, index) => {
    if (quiet.test(before)) return [];
    const deletion = statement.test(before) ? [""] : [];
    const edits = changes.flatMap(([pattern, to]) =>
      [...before.matchAll(pattern)].map(
        ({ index: at, 0: found }) => before.slice(0, at) + to + before.slice(at + found.length),
      ),
    );
    const all = [...deletion, ...edits].map((after) => ({ file, text, line: index + 1, before, after }));
    return all.filter((mutant) => isProgram(mutated(mutant)));
  });
}

function mutated({ text, line, after }: Mutant): string {
  return text
    .split("\n")
    .map((each, index) => (index + 1 === line ? after : each))
    .join("\n");
}

function isProgram(text: string): boolean {
  try {
    stripTypeScriptTypes(text);
    return true;
  } catch {
    return false;
  }
}

function trackedFiles(...paths: readonly string[]): readonly string[] {
  const options = { cwd: checkout, encoding: "utf8" } as const;
  return execFileSync("git", ["ls-files", "--", ...paths], options)
    .trim()
    .split("\n");
}

function copyOfCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), "mutants-"));
  for (const file of trackedFiles(".")) cpSync(join(checkout, file), join(copy, file), { recursive: true });
  symlinkSync(join(checkout, "node_modules"), join(copy, "node_modules"));
  return copy;
}

/** Those with chosen examples first: they take a second, and most changes do not survive them. */
function survives(copy: string, { file }: Mutant): boolean {
  const vitest = (...args: readonly string[]) =>
    spawnSync("npx", ["vitest", "related", file, "--run", "--project=unit", "--bail=1", "--passWithNoTests", ...args], {
      cwd: copy,
      stdio: "ignore",
      env: { ...process.env, TEST_SHRINK: "no" },
      timeout: limitMs,
    }).status === 0;
  return vitest("--exclude=**/*.property.test.ts") && vitest();
}

const { values, positionals } = parseArgs({
  options: { every: { type: "string", default: "1" } },
  allowPositionals: true,
});
const sources = trackedFiles(...positionals).filter((file) => /^(?!.*\.(test|fixture)\.ts$).*\.ts$/.test(file));
const chosen = sources.flatMap(mutantsIn).filter((_, index) => index % Number(values.every) === 0);
const copy = copyOfCheckout();
let lived = 0;
try {
  for (const mutant of chosen) {
    writeFileSync(join(copy, mutant.file), mutated(mutant));
    if (survives(copy, mutant)) {
      lived += 1;
      const change = `- ${mutant.before.trim()}\n+ ${mutant.after.trim()}`;
      process.stdout.write(`${mutant.file}:${mutant.line} lived\n${change}\n`);
    }
    writeFileSync(join(copy, mutant.file), mutant.text);
  }
} finally {
  rmSync(copy, { recursive: true });
}
process.stdout.write(`${chosen.length} changes, ${lived} of them lived\n`);
