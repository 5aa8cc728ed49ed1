/** What the live annotations of a Mountpoint Pod replace in the arguments of its mount-s3. Pure. */

import { cacheContainerPath } from "../names.ts";
import { cacheAttributes } from "../volume/cache-volume.ts";
import { bytewise, type MountOption, rendered } from "../volume/mount-option.ts";
import { type Proxy, parseProxy } from "../volume/proxy.ts";
import { parseLiveMountOptions, withLive } from "./live-mount-options.ts";
import { liveIn } from "./live-options.ts";

export interface LiveArguments {
  /** In the order of arguments. */
  readonly args: readonly string[];
  /** undefined: that of the volume. */
  readonly maxAttempts: string | undefined;
  /** An empty one is to be left out. */
  readonly proxy: Proxy;
}

/**
 * `args`: those that the options of the volume give. The result is that of the options with the live ones in their place. Throws a
 * DriverError for annotations that the reconciler does not write.
 */
export function withLiveArguments(
  args: readonly string[],
  annotations: Readonly<Record<string, string>>,
): LiveArguments {
  const { mountOptions = "", ...attributes } = liveIn(annotations);
  const live = optionsOf(mountOptions);
  const hasCache = live.some(({ key }) => key === "--cache") || cacheAttributes.some((name) => name in attributes);
  const former = args.map(parsedArgument).filter(({ key }) => !(hasCache && ofCache.has(key)));
  const merged = withLive(former, live).filter((option) => !isVariable(option));
  return {
    args: merged.toSorted(bytewise).map(rendered),
    maxAttempts: live.find(isVariable)?.value,
    proxy: parseProxy(attributes),
  };
}

/** Without changing the value: a prefix may begin with a blank. */
function parsedArgument(argument: string): MountOption {
  const end = argument.indexOf("=");
  return end === -1
    ? { key: argument, value: undefined }
    : { key: argument.slice(0, end), value: argument.slice(end + 1) };
}

/** mount-s3 has no such option. */
function isVariable({ key }: MountOption): boolean {
  return key === "--aws-max-attempts";
}

const ofCache = new Set(["--cache", "--max-cache-size"]);
const cacheArgument: MountOption = { key: "--cache", value: cacheContainerPath };

/** Only the reconciler gives a mount its cache: for the volume there are attributes. */
function optionsOf(text: string): readonly MountOption[] {
  const items = text.split(",");
  const others = items.filter((item) => item !== rendered(cacheArgument));
  return [...(others.length < items.length ? [cacheArgument] : []), ...parseLiveMountOptions(others.join(","))];
}
