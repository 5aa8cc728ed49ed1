/** One JSON object per line, with a constant message and variable fields, so that logs can be searched and counted. */
import { inspect } from "node:util";
import { withoutUserInfo } from "./user-info.ts";

export type LogFields = Readonly<Record<string, unknown>>;

type Level = "error" | "info" | "debug";

export interface Logger {
  /** For the edges only: a loop, a call or a process gave up, or will try again. Code below an edge throws instead. */
  error(message: string, fields?: LogFields): void;
  /** What an operator wants to read after an incident. */
  info(message: string, fields?: LogFields): void;
  /** The rest. Written from verbosity 4 on. */
  debug(message: string, fields?: LogFields): void;
  with(fields: LogFields): Logger;
}

/** `--v` of 2.x: 1 and 2 are for production, 4 shows every operation. */
const debugVerbosity = 4;

export function jsonLogger(write: (line: string) => void, verbosity: number, context: LogFields = {}): Logger {
  const emit = (level: Level, message: string, fields: LogFields) => {
    const entry = { time: new Date().toISOString(), level, message, ...context, ...fields };
    write(`${JSON.stringify(entry, printable)}\n`);
  };
  return {
    error: (message, fields = {}) => emit("error", message, fields),
    info: (message, fields = {}) => emit("info", message, fields),
    debug: (message, fields = {}) => {
      if (verbosity >= debugVerbosity) emit("debug", message, fields);
    },
    with: (fields) => jsonLogger(write, verbosity, { ...context, ...fields }),
  };
}

/** JSON.stringify turns errors, sets and maps into `{}`, and throws for a bigint. */
function printable(_key: string, value: unknown): unknown {
  if (value instanceof Error) return withoutUserInfo(describeError(value));
  if (typeof value === "string") return withoutUserInfo(value);
  if (typeof value === "bigint") return value.toString();
  if (value instanceof Set) return [...value];
  if (value instanceof Map) return Object.fromEntries(value);
  return value;
}

/** An error and its causes on one line, outermost first. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error; at !== undefined && parts.length < 8; at = at instanceof Error ? at.cause : undefined) {
    parts.push(at instanceof Error ? at.message : inspect(at));
  }
  return parts.join(": ");
}

export const silentLogger: Logger = {
  error: () => undefined,
  info: () => undefined,
  debug: () => undefined,
  with: () => silentLogger,
};
