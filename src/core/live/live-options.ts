/**
 * What annotations of a PersistentVolume ask for instead of its attributes and mount options. It holds for Mountpoint Pods that are created
 * from then on, also for those to which running workloads move. Pure.
 */

import { DriverError } from "../errors.ts";
import { cacheContainerPath, livePrefix } from "../names.ts";
import {
  type CacheVolume,
  cacheAttributes,
  cacheMemoryMib,
  maxCacheMib,
  parseCacheVolume,
  plainCache,
} from "../volume/cache-volume.ts";
import { memoryLimitMib, parseContainerResources, resourceAttributes } from "../volume/container-resources.ts";
import { asksForCache, mountArguments } from "../volume/mount-args.ts";
import { type MountOption, parseMountOption, rendered } from "../volume/mount-option.ts";
import { isProxyAttribute, parseProxy } from "../volume/proxy.ts";
import { optionRefusal, parseLiveMountOptions, withLive } from "./live-mount-options.ts";

type Texts = Readonly<Record<string, string>>;

/** The fields of a PersistentVolume that matter. Attributes and mount options are valid. */
export interface SpecifiedVolume {
  readonly annotations: Texts;
  readonly attributes: Texts;
  readonly mountOptions: readonly string[];
}

export interface LiveOptions {
  /** Those of the volume, with the live ones instead. */
  readonly attributes: Texts;
  readonly cache: CacheVolume | undefined;
  /** Of a Mountpoint Pod that is created for this: the node plugin reads them there. */
  readonly annotations: Texts;
  /** Why annotations are ignored, and what to do about it. */
  readonly refusals: readonly string[];
}

export function liveOptionsOf(volume: SpecifiedVolume): LiveOptions {
  const given = liveIn(volume.annotations);
  const plain = { attributes: volume.attributes, annotations: {}, refusals: unknownIn(given) };
  const changed = groups.reduce((before, group) => withGroup(before, group, given), plain);
  return withMountOptions({ ...changed, cache: cacheOf(volume, changed) }, volume, given);
}

/** The live annotations, without their prefix. */
export function liveIn(annotations: Texts): Texts {
  const live = Object.entries(annotations).filter(([name]) => name.startsWith(livePrefix));
  return Object.fromEntries(live.map(([name, value]) => [name.slice(livePrefix.length), value]));
}

/** Attributes that are parsed, and refused, together. */
interface Group {
  readonly has: (attribute: string) => boolean;
  readonly parse: (attributes: Texts) => unknown;
  /** What is left of the attributes of the volume. */
  readonly kept: (attributes: Texts, live: Texts) => Texts;
}

const groups: readonly Group[] = [
  { has: (name) => resourceAttributes.includes(name), parse: parseContainerResources, kept: (own) => own },
  {
    has: (name) => cacheAttributes.includes(name),
    parse: parseCacheVolume,
    // Another kind of cache has other attributes.
    kept: (own, live) => (live["cache"] === undefined ? own : without(own, cacheAttributes)),
  },
  { has: isProxyAttribute, parse: parseProxy, kept: (own) => own },
];

const mountOptions = "mountOptions";

function unknownIn(given: Texts): readonly string[] {
  const unknown = Object.keys(given).filter((name) => name !== mountOptions && !groups.some(({ has }) => has(name)));
  return unknown.toSorted().map((name) => refusal([name], "it cannot change for a running mount", "Remove it."));
}

/** The kernel starts no program with a variable of 128 KiB, and an object in the cluster has 256 KiB for all annotations. */
const longestValue = 8192;

type Changed = Omit<LiveOptions, "cache">;

function withGroup(before: Changed, { has, parse, kept }: Group, given: Texts): Changed {
  const live = Object.fromEntries(Object.entries(given).filter(([name]) => has(name)));
  const names = Object.keys(live).toSorted();
  if (names.length === 0) return before;
  const long = names.filter((name) => (live[name] ?? "").length > longestValue);
  if (long.length > 0) {
    const because = `it is longer than ${longestValue} characters`;
    return { ...before, refusals: [...before.refusals, refusal(long, because, "Write a shorter value.")] };
  }
  const attributes = { ...kept(before.attributes, live), ...live };
  const refused = refusedBy(names, () => parse(attributes));
  if (refused !== undefined) return { ...before, refusals: [...before.refusals, refused] };
  return { ...before, attributes, annotations: { ...before.annotations, ...annotated(live) } };
}

/** The annotation `cache` decides alone; the mount option of the same name gives a cache without it. */
function cacheOf(volume: SpecifiedVolume, { attributes, annotations }: Changed): CacheVolume | undefined {
  const isLive = annotations[`${livePrefix}cache`] !== undefined;
  const byOption = !isLive && asksForCache(volume.mountOptions) ? plainCache : undefined;
  return parseCacheVolume(attributes) ?? byOption;
}

function withMountOptions(before: LiveOptions, volume: SpecifiedVolume, given: Texts): LiveOptions {
  const text = given[mountOptions];
  let live: readonly MountOption[] = [];
  const refused =
    text &&
    refusedBy([mountOptions], () => {
      live = checkedWith(before, parseLiveMountOptions(text));
    });
  const options = [...live.filter(({ key }) => key !== "--max-cache-size"), ...cacheArguments(before, volume, live)];
  const value = options.map(rendered).toSorted().join(",");
  return {
    ...before,
    annotations: { ...before.annotations, ...(value === "" ? {} : annotated({ [mountOptions]: value })) },
    refusals: refused ? [...before.refusals, refused] : before.refusals,
  };
}

/** What depends on other settings of the volume: mount-s3 would not start, or be killed. */
function checkedWith({ attributes, cache }: LiveOptions, live: readonly MountOption[]): readonly MountOption[] {
  const numberOf = (option: string) => Number(live.find(({ key }) => key === option)?.value);
  const size = numberOf("--max-cache-size");
  const mostMib = cache && maxCacheMib(cache);
  if (!Number.isNaN(size) && cache === undefined)
    throw optionRefusal("--max-cache-size needs a cache", "remove the option");
  if (mostMib !== undefined && size > mostMib) {
    throw optionRefusal(
      `--max-cache-size is more than ${mostMib}, 95 % of the cache volume`,
      `write ${mostMib} or less`,
    );
  }
  const limitMib = memoryLimitMib(parseContainerResources(attributes));
  const leftMib = limitMib && limitMib - cacheMemoryMib(cache);
  if (leftMib !== undefined && numberOf("--memory-target") > leftMib) {
    throw optionRefusal(
      `--memory-target is more than the memory limit leaves, ${leftMib} MiB`,
      "write less, or raise the limit",
    );
  }
  return live;
}

/** The node plugin does not know the size of the volume: it takes these instead of what it has. */
function cacheArguments(
  { cache, annotations }: LiveOptions,
  volume: SpecifiedVolume,
  live: readonly MountOption[],
): readonly MountOption[] {
  const concerned = Object.keys(annotations).some((name) => cacheAttributes.includes(name.slice(livePrefix.length)));
  if (cache === undefined || !(concerned || live.some(({ key }) => key === "--max-cache-size"))) return [];
  const options = withLive(volume.mountOptions.flatMap(parseMountOption), live).map(rendered);
  const { args } = mountArguments({ ...nothingElse, options, cache });
  const size = args.flatMap(parseMountOption).filter(({ key }) => key === "--max-cache-size");
  return [{ key: "--cache", value: cacheContainerPath }, ...size];
}

const nothingElse = {
  readOnly: false,
  fsGroup: "",
  region: undefined,
  prefix: undefined,
  userAgentPrefix: "",
} as const;

function refusedBy(names: readonly string[], parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    // The parser takes the value for that of an attribute.
    const message = names.reduce((text, name) => text.replaceAll(`volumeAttributes.${name}`, name), error.message);
    return refusal(names, message, error.hint ?? "");
  }
}

function refusal(names: readonly string[], because: string, fix: string): string {
  const all = names.map((name) => `${livePrefix}${name}`).join(", ");
  const what = names.length === 1 ? `the annotation ${all} is` : `the annotations ${all} are`;
  return `${what} ignored: ${because}. ${fix}`.trim();
}

function annotated(live: Texts): Texts {
  return Object.fromEntries(Object.entries(live).map(([name, value]) => [`${livePrefix}${name}`, value]));
}

function without(attributes: Texts, names: readonly string[]): Texts {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !names.includes(name)));
}
