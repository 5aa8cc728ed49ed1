/** One option of mount-s3, as a PersistentVolume, a StorageClass or a command line spells it. */
import { DriverError } from "../errors.ts";

export interface MountOption {
  /** With its dashes. */
  readonly key: string;
  /** undefined: a flag. */
  readonly value: string | undefined;
}

/** `key value`, `key=value` or `key`, with or without the dashes. Empty: the text is blank. */
export function parseMountOption(item: string): readonly MountOption[] {
  const text = item.trim();
  if (text === "") return [];
  const end = text.search(/[ =]/);
  const name = end === -1 ? text : text.slice(0, end);
  const key = name.startsWith("-") ? name : `--${name}`;
  // mount-s3 reads `-df` as `-d -f` and `--` as the end of all options: a policy by name would not see through that.
  if (!/^(-[^-]|--[^-].*)$/s.test(key)) {
    throw new DriverError("invalid", `mount option ${JSON.stringify(text)} is not an option of mount-s3`, {
      hint: "In mountOptions of the PersistentVolume or StorageClass: write one option per line, by its long name.",
    });
  }
  return [{ key, value: end === -1 ? undefined : text.slice(end + 1).trim() }];
}

/** mount-s3 knows two spellings of one option, and takes it once. */
const longForm: Readonly<Record<string, string>> = { "-l": "--log-directory", "-d": "--debug" };

export function longName(key: string): string {
  return longForm[key] ?? key;
}

/** As an argument of mount-s3. */
export function rendered({ key, value }: MountOption): string {
  return value === undefined ? key : `${key}=${value}`;
}

/** The order of arguments. */
export function bytewise(a: MountOption, b: MountOption): number {
  return Buffer.compare(Buffer.from(rendered(a)), Buffer.from(rendered(b)));
}
