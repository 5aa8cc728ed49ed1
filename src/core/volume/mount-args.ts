/**
 * The volume's mount options → the arguments of mount-s3. The result depends on what was given, never on the order:
 * a class that lists its options differently mounts the same.
 */
import { resolve } from "node:path/posix";
import type { CredentialSource } from "../identity.ts";
import { cacheContainerPath, scratch } from "../names.ts";
import type { Store } from "../stores/store.ts";
import { type CacheVolume, maxCacheMib } from "./cache-volume.ts";
import { bytewise, longName, type MountOption, parseMountOption, rendered } from "./mount-option.ts";

export interface MountWish {
  /** As the PersistentVolume or StorageClass lists them. */
  readonly options: readonly string[];
  /** The request is read-only, or the access mode is ReadOnlyMany. */
  readonly readOnly: boolean;
  /** The group kubelet wants on the volume, decimal; empty where the workload sets none. */
  readonly fsGroup: string;
  /** Of the volume's attributes; a `region` option beats it. */
  readonly region: string | undefined;
  /** Of the volume's attributes: where the volume lies in a bucket that others use, too. undefined: it is the whole bucket. */
  readonly prefix: string | undefined;
  /** Of the volume's attributes. The mount option `cache` works without. */
  readonly cache: CacheVolume | undefined;
  readonly userAgentPrefix: string;
  /** Of the store; absent where only the warnings matter. */
  readonly store?: StoreOptions;
}

type StoreOptions = Pick<Store, "pathStyle" | "uploadChecksums">;

export interface MountArguments {
  /** Sorted bytewise, without `--foreground`, which the mounter adds. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Acts on the mount of the target: mount-s3 refuses the flag, because it does not mount itself. */
  readonly readOnly: boolean;
  /** What was left out or changed, a sentence each, for the log and the workload's events. */
  readonly warnings: readonly string[];
}

export function mountArguments(wish: MountWish): MountArguments {
  const options = new Options(wish.options.flatMap(parseMountOption));

  options.remove(ignored);
  const readOnly = options.remove(["--read-only"]) || wish.readOnly;
  options.refuse(refused);
  options.refuse(["--log-directory", "-l"], (value = "") => !isInScratch(value));
  const maxAttempts = options.take("--aws-max-attempts");
  if (wish.region !== undefined) options.addIfAbsent("--region", wish.region);
  // A `prefix` option lies within the volume's own place and never beside it.
  if (wish.prefix !== undefined) options.replace("--prefix", `${wish.prefix}${options.take("--prefix") ?? ""}`);
  addFsGroup(options, wish.fsGroup);
  if (wish.cache !== undefined) addCache(options, wish.cache);
  if (options.has("--allow-other")) options.remove(["--allow-root"]);
  else options.addIfAbsent("--allow-root");
  if (options.has(...loggingWishes)) options.refuse(["--no-log"]);
  addStore(options, wish.store);
  options.replace("--user-agent-prefix", wish.userAgentPrefix);

  const args = options.render();
  const env = maxAttempts ? { AWS_MAX_ATTEMPTS: maxAttempts } : {};
  return { args, env, readOnly, warnings: options.warnings };
}

/** Whether a volume with these options has a cache, even if its attributes say nothing of one. */
export function asksForCache(options: readonly string[]): boolean {
  return options.flatMap(parseMountOption).some(({ key }) => key === "--cache");
}

/** How a mount shows itself in the log of the object store. */
export function userAgentPrefix(mount: {
  readonly driverVersion: string;
  readonly credentialSource: CredentialSource;
  readonly kubernetesVersion: string | undefined;
}): string {
  const kubernetes = mount.kubernetesVersion ? ` k8s/${mount.kubernetesVersion}` : "";
  return `s3-csi-driver/${mount.driverVersion} credential-source#${mount.credentialSource}${kubernetes}`;
}

/** They would end mount-s3 before it mounts, or are added by the mounter. `-V` is how mount-s3 spells `-v`. */
const ignored = ["--foreground", "-f", "--help", "-h", "--version", "-v", "-V"];

/** The driver decides these, or the object store has no such thing, or (the last) mount-s3 does not mount itself. */
const refused = [
  "--profile",
  "--endpoint-url",
  "--cache-xz",
  "--incremental-upload",
  "--storage-class",
  "-o",
  "--auto-unmount",
];

/** mount-s3 refuses `--no-log` beside any of these; whoever asks for a log gets it. */
const loggingWishes = ["--log-directory", "-l", "--debug", "-d", "--debug-crt", "--log-metrics"];

/** The only option that mount-s3 takes more than once. */
const repeatable = "--bind";

/** The root file system of a Mountpoint Pod is read-only: a log elsewhere would fail the mount. */
function isInScratch(directory: string): boolean {
  return `${resolve(scratch.containerPath, directory)}/`.startsWith(`${scratch.containerPath}/`);
}

/** With fsGroup the volume belongs to that group; whoever sets a gid by hand keeps the modes, too. */
function addFsGroup(options: Options, fsGroup: string): void {
  if (fsGroup === "" || options.has("--gid")) return;
  // mount-s3 refuses gid 0, and without the option shows its own group: that is 0 in a Mountpoint Pod.
  if (fsGroup !== "0") options.addIfAbsent("--gid", fsGroup);
  options.addIfAbsent("--allow-other");
  options.addIfAbsent("--dir-mode", "770");
  options.addIfAbsent("--file-mode", "660");
}

/** The bucket is part of the host name only where the store is configured so: 2.x had no choice. */
function addStore(options: Options, { pathStyle, uploadChecksums }: StoreOptions = usualStore): void {
  if (pathStyle) options.replace("--force-path-style");
  else options.remove(["--force-path-style"]);
  if (uploadChecksums !== undefined) options.addIfAbsent("--upload-checksums", uploadChecksums);
}

const usualStore: StoreOptions = { pathStyle: true, uploadChecksums: undefined };

/** Without a size of its own mount-s3 fills the file system below the volume, and that is the whole disk of the node. */
function addCache(options: Options, cache: CacheVolume): void {
  options.addIfAbsent("--cache", cacheContainerPath);
  const most = maxCacheMib(cache);
  if (most === undefined) return;
  if (options.remove(["--max-cache-size"], (value) => Number(value) > most)) {
    options.warnings.push(`mount option --max-cache-size was reduced to ${most}, 95 % of the cache volume`);
  }
  options.addIfAbsent("--max-cache-size", `${most}`);
}

/** A set of options among which none can hide: every operation acts on all values of a key. */
class Options {
  #options: readonly MountOption[];
  readonly warnings: string[] = [];

  constructor(options: readonly MountOption[]) {
    this.#options = [...new Map(options.map((option) => [rendered(option), option])).values()];
  }

  has(...keys: readonly string[]): boolean {
    return this.#options.some((option) => keys.includes(option.key));
  }

  /** Whether there was anything to remove. */
  remove(keys: readonly string[], when: (value: string | undefined) => boolean = () => true): boolean {
    const before = this.#options.length;
    this.#options = this.#options.filter(({ key, value }) => !(keys.includes(key) && when(value)));
    return this.#options.length < before;
  }

  /** Removes with a warning. */
  refuse(keys: readonly string[], when?: (value: string | undefined) => boolean): void {
    for (const key of keys) {
      if (this.remove([key], when)) this.warnings.push(`mount option ${key} cannot be used here and was left out`);
    }
  }

  /** Removes the option and gives its value. */
  take(key: string): string | undefined {
    const found = this.#options.toSorted(bytewise).find((option) => option.key === key);
    this.remove([key]);
    return found?.value;
  }

  addIfAbsent(key: string, value?: string): void {
    if (!this.has(key)) this.#options = [...this.#options, { key, value }];
  }

  replace(key: string, value?: string): void {
    this.remove([key]);
    this.addIfAbsent(key, value);
  }

  /** mount-s3 refuses an option given twice; of several values the first in bytewise order counts. */
  render(): readonly string[] {
    const chosen = new Map<string, string>();
    for (const option of this.#options.toSorted(bytewise)) {
      const text = rendered(option);
      const identity = option.key === repeatable ? text : longName(option.key);
      const first = chosen.get(identity);
      if (first === undefined) chosen.set(identity, text);
      else this.warnings.push(`mount option ${text} was left out, because ${first} was given, too`);
    }
    return [...chosen.values()];
  }
}
