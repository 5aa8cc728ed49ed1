/** The live mount options of a volume, and how they take the place of those that a mount would have without them. Pure. */
import { DriverError } from "../errors.ts";
import { bytewise, longName, type MountOption, parseMountOption, rendered } from "../volume/mount-option.ts";
import { excludedBy, liveOptions, refusalOf } from "./option-policy.ts";

/** `metadata-ttl 60, max-threads=32`, or one on each line. Throws a DriverError that names the option that may not be there. */
export function parseLiveMountOptions(text: string): readonly MountOption[] {
  const options = text.split(/[,\n]/).flatMap(parseMountOption).map(checked);
  const byKey = new Map<string, MountOption>();
  for (const option of options) {
    const other = [option.key, ...excludedBy(option.key)].flatMap((key) => byKey.get(key) ?? [])[0];
    if (other !== undefined && rendered(other) !== rendered(option)) {
      throw optionRefusal(`${rendered(option)} and ${rendered(other)} exclude each other`, "leave one of them out");
    }
    byKey.set(option.key, option);
  }
  return [...byKey.values()].toSorted(bytewise);
}

function checked({ key, value }: MountOption): MountOption {
  const name = longName(key);
  const check = liveOptions[name];
  if (check === undefined) {
    throw optionRefusal(
      `${name} cannot change for a running mount, because it ${refusalOf(name)}`,
      "remove the option",
    );
  }
  const expected = check(value);
  if (expected !== undefined)
    throw optionRefusal(`${name} has the wrong value ${JSON.stringify(value ?? "")}`, expected);
  return { key: name, value };
}

export function optionRefusal(problem: string, fix: string): DriverError {
  return new DriverError("invalid", `option ${problem}`, { hint: `In the annotation: ${fix}.` });
}

/** The options with the live ones instead of those of the same name, and of those that mount-s3 refuses beside them. */
export function withLive(options: readonly MountOption[], live: readonly MountOption[]): readonly MountOption[] {
  const replaced = new Set(live.flatMap(({ key }) => [key, ...excludedBy(key)]));
  const isSplit = live.some(({ key }) => key === "--read-part-size" || key === "--write-part-size");
  const former = isSplit ? withSplitPartSize(options) : options;
  return [...former.filter(({ key }) => !replaced.has(longName(key))), ...live];
}

/** `part-size` stands for both of the others, of which only one may be live. */
function withSplitPartSize(options: readonly MountOption[]): readonly MountOption[] {
  const given = new Set(options.map(({ key }) => key));
  const missing = ["--read-part-size", "--write-part-size"].filter((key) => !given.has(key));
  return options.flatMap((option) =>
    option.key === "--part-size" ? missing.map((key) => ({ key, value: option.value })) : [option],
  );
}
