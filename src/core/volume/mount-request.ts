/** The message that goes with the FUSE descriptor from the node to the mounter, as 2.x speaks it (contract 2.5). */
import { DriverError } from "../errors.ts";

export interface MountRequest {
  readonly bucketName: string;
  /** Options of mount-s3, rendered. */
  readonly args: readonly string[];
  /** The whole environment of mount-s3. From a node of 2.x it holds keys: never print it. */
  readonly env: Readonly<Record<string, string>>;
}

/** Usual messages have one or two KiB; this many fit into a socket's buffer at once, so that sending never waits. */
export const mountRequestLimitBytes = 64 * 1024;

export function encodeMountRequest({ bucketName, args, env }: MountRequest): Uint8Array {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const bytes = new TextEncoder().encode(JSON.stringify({ bucketName, args, env: variables }));
  if (bytes.length > mountRequestLimitBytes) {
    throw refused(`takes ${bytes.length} bytes, more than the ${mountRequestLimitBytes} allowed: shorten mountOptions`);
  }
  return bytes;
}

/** Refuses with the name of the field and never with its content. Unknown keys are ignored, as in 2.x. */
export function decodeMountRequest(bytes: Uint8Array): MountRequest {
  if (bytes.length > mountRequestLimitBytes) throw refused(`is longer than ${mountRequestLimitBytes} bytes`);
  const message = parse(bytes);
  return {
    bucketName: bucketNameIn(message["bucketName"]),
    args: stringsIn("args", message["args"]),
    env: variablesIn(stringsIn("env", message["env"])),
  };
}

function parse(bytes: Uint8Array): Record<string, unknown> {
  let message: unknown;
  try {
    message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw refused("is not JSON"); // without the cause: a syntax error quotes the text, and that may hold keys
  }
  if (typeof message !== "object" || message === null || Array.isArray(message)) throw refused("is not an object");
  return message as Record<string, unknown>;
}

/** A leading dash would make an option of it. */
function bucketNameIn(value: unknown): string {
  if (!isArgument(value) || value === "" || value.startsWith("-")) throw refused("has no valid bucketName");
  return value;
}

/** Absent and null are an empty list: that is how Go writes one. */
function stringsIn(field: string, value: unknown): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw refused(`has ${field} that is not a list`);
  return value.map((item: unknown) => {
    if (isArgument(item)) return item;
    throw refused(`has ${field} with something other than strings without NUL`);
  });
}

/** execve(2) takes strings that end at a NUL. */
function isArgument(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}

/** Of a variable given twice the last counts. */
function variablesIn(list: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    list.map((variable) => {
      const separator = variable.indexOf("=");
      if (separator < 1) throw refused("has env with an entry that is not NAME=value");
      return [variable.slice(0, separator), variable.slice(separator + 1)] as const;
    }),
  );
}

function refused(problem: string): DriverError {
  return new DriverError("invalid", `the mount request ${problem}`);
}
