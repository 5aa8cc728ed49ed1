/** What `./dev test …` asks for. Pure: words in, request out. */
import { Problem } from "../problem.ts";
import { filesOf, isRing, type Ring, ringOf } from "./rings.ts";

export interface Asked {
  readonly what: "everything" | "long" | "smoke" | "static" | Ring;
  /** Instead of all files of a ring. */
  readonly files?: readonly string[];
  /** For vitest, such as `-t NAME`. */
  readonly args: readonly string[];
}

const wholes = ["long", "smoke", "static"] as const;

/** `words` are those before `--`, `args` those after it. A word names a ring, a file, or a part of a file's name in a ring. */
export function askedFor([first, ...words]: readonly string[], args: readonly string[]): Asked {
  if (first === undefined) return { what: "everything", args: none("./dev test", args) };
  const whole = wholes.find((name) => name === first);
  if (whole !== undefined) return { what: whole, args: none(`./dev test ${whole}`, [...words, ...args]) };
  if (isRing(first)) return { what: first, args, ...chosen(first, words) };
  if (!first.endsWith(".test.ts")) throw unknownRing(first);
  const named = [first, ...words].map(ringOf);
  const [ring, other] = [...new Set(named.map((one) => one.ring))];
  if (ring === undefined || other !== undefined) {
    throw new Problem(`these files are of the rings ${ring} and ${other}`, "run each ring by itself");
  }
  return { what: ring, args, files: named.map(({ file }) => file) };
}

function chosen(ring: Ring, words: readonly string[]): { readonly files?: readonly string[] } {
  if (words.length === 0) return {};
  const files = filesOf(ring).filter((file) => words.some((word) => file.includes(word)));
  if (files.length > 0) return { files };
  throw new Problem(`no file of the ring ${ring} is named like ${words.join(" ")}`, "look into test/ for its name");
}

function none(what: string, words: readonly string[]): readonly string[] {
  if (words.length === 0) return [];
  throw new Problem(
    `${what} takes no further words: ${words.join(" ")}`,
    "name a ring or a file first: ./dev test node …",
  );
}

/** Tests are chosen by name, so a file may have none of them. */
export function isByName(args: readonly string[]): boolean {
  return args.some((word) => word === "-t" || word.startsWith("--testNamePattern"));
}

function unknownRing(name: string): Problem {
  const known = ["static", "unit", "wire", "cluster", "node", "stores", "matrix", "smoke", "long"];
  return new Problem(`there is no ring "${name}"`, `use one of: ${known.join(", ")}, or name a test file`);
}
