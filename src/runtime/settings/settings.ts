/**
 * Flags and environment variables, declared as data and read once. A program that cannot start names every mistake in one
 * message, and says for each of them what would be right.
 */

import { parseCommandLine } from "./command-line.ts";
import type { Kind } from "./kinds.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** One value that a program takes from outside. The flag wins over the variable, and both win over the default. */
export interface Setting<Value = unknown> {
  readonly kind: Kind<Value>;
  /** Name of the flag, without the dashes. */
  readonly flag?: string;
  readonly variable?: string;
  /** What to call the one argument that is not a flag. At most one setting of a program has it. */
  readonly argument?: string;
  readonly default?: Value;
  /** If present, the program does not start without the setting. The text says what the setting is. */
  readonly required?: string;
}

export type Settings = Readonly<Record<string, Setting>>;

/** Where the values come from. */
export interface Given {
  readonly args: readonly string[];
  readonly env: Environment;
}

/** The values of declared settings: a setting with neither `default` nor `required` may be undefined. */
export type ValuesOf<Declared extends Settings> = {
  readonly [Name in keyof Declared]: Declared[Name] extends { readonly required: string }
    ? ValueOf<Declared[Name]>
    : ValueOrDefault<Declared[Name]>;
};

/** The same while mistakes are collected: a mistaken setting has its default, or is undefined. */
export type ValuesToCheck<Declared extends Settings> = {
  readonly [Name in keyof Declared]: ValueOrDefault<Declared[Name]>;
};

type ValueOf<Declared extends Setting> = Declared["kind"] extends Kind<infer Value> ? Value : never;

type ValueOrDefault<Declared extends Setting> =
  | ValueOf<Declared>
  | (Declared extends { readonly default: unknown } ? never : undefined);

/** Every default is a value of its setting's kind. */
type Sound<Declared extends Settings> = {
  readonly [Name in keyof Declared]: { readonly default?: ValueOf<Declared[Name]> };
};

/**
 * Reads the declared settings. Throws one Error that names all mistakes, in the order of the declaration.
 *
 * A check looks at settings that depend on each other, and throws to report a mistake. Checks run even if some settings are
 * mistaken, so that one start of the program reports everything. Functions that build a part of the configuration make good
 * checks: the caller calls them again on the result, and they do not throw then.
 */
export function readSettings<const Declared extends Settings>(
  declared: Declared & Sound<Declared>,
  given: Given,
  checks: readonly ((values: ValuesToCheck<NoInfer<Declared>>) => unknown)[] = [],
): ValuesOf<Declared> {
  const { texts, mistakes } = parseCommandLine(given.args, Object.values(declared));
  const entries = Object.entries<Setting>(declared).map(([name, setting]) => {
    const { value, mistake } = valueOf(setting, texts, given.env);
    if (mistake !== undefined) mistakes.push(mistake);
    return [name, value];
  });
  const values = Object.fromEntries(entries) as ValuesToCheck<Declared>;
  mistakes.push(...checks.flatMap((check) => mistakeIn(() => check(values))));
  if (mistakes.length > 0) throw new Error(mistakes.join("; "));
  return values as ValuesOf<Declared>;
}

/** A value as it was given, and where. */
interface Source {
  readonly name: string;
  readonly text: string;
}

function valueOf(
  setting: Setting,
  texts: ReadonlyMap<string, string | undefined>,
  env: Environment,
): { readonly value: unknown; readonly mistake?: string } {
  const source = sourceOf(setting, texts, env);
  if (source === "mistaken") return { value: setting.default };
  if (source === undefined) {
    if (setting.required === undefined) return { value: setting.default };
    return { value: setting.default, mistake: `${describe(setting)} must be set: ${setting.required}` };
  }
  const value = setting.kind.parse(source.text);
  if (value !== undefined) return { value };
  const shown = setting.kind.isSecret ? "" : `, but is "${source.text}"`;
  return { value: setting.default, mistake: `${source.name} must be ${setting.kind.expected}${shown}` };
}

/** Manifests often pass empty values for "not set", so an empty variable and, for most kinds, an empty flag count as absent. */
function sourceOf(
  setting: Setting,
  texts: ReadonlyMap<string, string | undefined>,
  env: Environment,
): Source | "mistaken" | undefined {
  const { flag, argument, kind } = setting;
  const name = flag === undefined ? argument : `--${flag}`;
  if (name === undefined || !texts.has(name)) return variableOf(setting, env);
  const text = texts.get(name)?.trim();
  if (text === undefined) return "mistaken";
  return text === "" && !kind.refusesEmpty ? variableOf(setting, env) : { name, text };
}

function variableOf({ variable }: Setting, env: Environment): Source | undefined {
  if (variable === undefined) return undefined;
  const text = env[variable]?.trim() ?? "";
  return text === "" ? undefined : { name: variable, text };
}

function describe({ flag, argument, variable }: Setting): string {
  if (argument !== undefined) return argument;
  if (flag === undefined) return `${variable} environment variable`;
  return variable === undefined ? `--${flag}` : `--${flag} or the ${variable} environment variable`;
}

function mistakeIn(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
