/** Options of `./dev` commands; what is not known is refused with what is. */
import { Problem } from "./problem.ts";

export interface Parsed {
  readonly options: ReadonlyMap<string, string>;
  readonly rest: readonly string[];
  /** Everything after `--`. */
  readonly after: readonly string[];
}

/** Reads `--name VALUE` and `--name=VALUE`; flags without a value are listed in `flags`. */
export function parseArguments(
  args: readonly string[],
  known: readonly string[],
  flags: readonly string[] = [],
): Parsed {
  const options = new Map<string, string>();
  const rest: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? "";
    if (word === "--") return { options, rest, after: args.slice(at + 1) };
    const { name, value } = splitOption(word);
    if (name === undefined) rest.push(word);
    else if (flags.includes(name)) options.set(name, "");
    else if (known.includes(name)) options.set(name, value ?? required(name, args[++at]));
    else throw unknownOption(name, [...known, ...flags]);
  }
  return { options, rest, after: [] };
}

/** Takes the lab's own `--name` out of arguments that are meant for another program. */
export function takeLabName(args: readonly string[]): { readonly name: string; readonly rest: readonly string[] } {
  const [first = "", second, ...others] = args;
  if (first === "--name" && second !== undefined) return { name: second, rest: others };
  if (first.startsWith("--name=")) return { name: first.slice("--name=".length), rest: args.slice(1) };
  return { name: defaultLab, rest: args };
}

export const defaultLab = "dev";

function splitOption(word: string): { readonly name?: string; readonly value?: string } {
  const match = /^--([a-z][a-z-]*)(?:=(.*))?$/.exec(word);
  if (match?.[1] === undefined) return {};
  return match[2] === undefined ? { name: match[1] } : { name: match[1], value: match[2] };
}

function required(name: string, value: string | undefined): string {
  if (value !== undefined) return value;
  throw new Problem(`--${name} needs a value`, `write --${name} VALUE`);
}

function unknownOption(name: string, known: readonly string[]): Problem {
  const fix = known.length === 0 ? "it takes no options" : `use one of: ${known.map((one) => `--${one}`).join(", ")}`;
  return new Problem(`the option --${name} is not known`, fix);
}
