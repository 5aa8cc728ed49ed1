import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { nearest } from "./nearest.ts";
import type { Setting } from "./settings.ts";

interface CommandLine {
  /** By `--flag`, or by the name of the argument. undefined: the text is missing, which is among the mistakes. */
  readonly texts: ReadonlyMap<string, string | undefined>;
  readonly mistakes: string[];
}

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];
type OptionToken = Extract<Token, { readonly kind: "option" }>;

/** Takes the command line apart. Of a flag that is repeated, the last value counts. */
export function parseCommandLine(args: readonly string[], settings: readonly Setting[]): CommandLine {
  const flags = new Map(settings.flatMap((setting) => (setting.flag === undefined ? [] : [[setting.flag, setting]])));
  const argument = settings.find((setting) => setting.argument !== undefined)?.argument;
  const texts = new Map<string, string | undefined>();
  const mistakes: string[] = [];
  for (const token of tokensOf(args, flags)) {
    if (token.kind === "option") {
      const mistake = mistakeOf(token, flags);
      if (mistake !== undefined) mistakes.push(mistake);
      texts.set(token.rawName, mistake === undefined ? (token.value ?? "true") : undefined);
    } else if (token.kind === "positional") {
      if (argument === undefined || texts.has(argument)) mistakes.push(`unexpected argument "${token.value}"`);
      else texts.set(argument, token.value);
    }
  }
  return { texts, mistakes };
}

type Flags = ReadonlyMap<string, Setting>;

/** parseArgs is not strict here: a strict one stops at the first mistake. */
function tokensOf(args: readonly string[], flags: Flags): readonly Token[] {
  const options: ParseArgsOptionsConfig = Object.fromEntries(
    Array.from(flags, ([flag, { kind }]) => [flag, { type: kind.isToggle ? "boolean" : "string" }]),
  );
  return parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true }).tokens;
}

function mistakeOf({ name, rawName, value, inlineValue }: OptionToken, flags: Flags): string | undefined {
  const setting = flags.get(name);
  if (setting === undefined || rawName !== `--${name}`) return unknownFlag(rawName, name, [...flags.keys()]);
  if (setting.kind.isToggle) {
    return value === undefined ? undefined : `${rawName} takes no value: write ${rawName}, or leave it out`;
  }
  // parseArgs takes the next argument for the value, even if that is a flag.
  const isMissing = value === undefined || (!inlineValue && value.startsWith("--"));
  return isMissing ? `${rawName} needs a value: write ${rawName}=VALUE` : undefined;
}

function unknownFlag(rawName: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return near === undefined ? `unknown flag ${rawName}` : `unknown flag ${rawName}: did you mean --${near}?`;
}
