/** Pure: the options of `kubectl s3 bench` and the volume → what is measured, and as whom. */
import { parseQuantity } from "../../core/volume/quantity.ts";
import type { PersistentVolume } from "../../topology/objects.ts";
import { UserError } from "../user-error.ts";

export interface BenchOptions {
  readonly size: string;
  readonly files: string;
  readonly node?: string;
  readonly image?: string;
  readonly user?: string;
  readonly fsGroup?: string;
}

export interface BenchSizes {
  readonly sizeBytes: number;
  readonly files: number;
}

const [leastBytes, mostBytes, mostFiles] = [2 ** 20, 4 * 2 ** 30, 1000];

export function benchSizes({ size, files }: BenchOptions): BenchSizes {
  const sizeBytes = parseQuantity(size) ?? Number.NaN;
  if (!(sizeBytes >= leastBytes && sizeBytes <= mostBytes))
    throw new UserError(`--size ${size} is not a size from 1Mi to 4Gi`, "write it as Kubernetes does, such as 64Mi");
  return { sizeBytes: Math.floor(sizeBytes), files: integer("--files", files, 1, mostFiles) };
}

export interface BenchIdentity {
  readonly user: number;
  readonly fsGroup: number | undefined;
}

/** The user of Mountpoint Pods: mount-s3 shows files as its own unless the volume has the option `uid`. */
const mountS3User = 1000;

/** The Pod runs as the owner of the files, and so shares the Mountpoint Pod of workloads without fsGroup. */
export function benchIdentity(options: BenchOptions, volume: PersistentVolume | undefined): BenchIdentity {
  const owner = Number(optionOf(volume, "uid") ?? mountS3User);
  const user = options.user === undefined ? owner || mountS3User : integer("--user", options.user, 1, 2 ** 31);
  const fsGroup = options.fsGroup === undefined ? undefined : integer("--fs-group", options.fsGroup, 0, 2 ** 31);
  return { user, fsGroup };
}

export interface ReadsOnly {
  readonly because: string;
  readonly fix: string;
}

/** Why the volume must not be written; undefined: it can be. */
export function readsOnly(volume: PersistentVolume | undefined): ReadsOnly | undefined {
  if (volume === undefined)
    return {
      because: "you may not read the PersistentVolume, so it is not known whether files can be removed again",
      fix: "to measure writes, ask for the right to get PersistentVolumes",
    };
  const { metadata, spec } = volume;
  const modes = spec.accessModes ?? [];
  if (optionOf(volume, "read-only") !== undefined || spec.csi?.readOnly === true)
    return { because: "the volume is read-only", fix: "to measure writes, name a volume without the option read-only" };
  if (modes.length > 0 && modes.every((mode) => mode === "ReadOnlyMany"))
    return { because: "its access mode is ReadOnlyMany", fix: "to measure writes, name a volume with ReadWriteMany" };
  if (optionOf(volume, "allow-delete") === undefined)
    return {
      because: "it has no mount option allow-delete, so what is written could not be removed",
      fix: `to measure writes: kubectl patch pv ${metadata.name} --type=json -p '${withAllowDelete(volume)}' (workloads may then delete files, too)`,
    };
  if (optionOf(volume, "uid") === "0")
    return { because: "its files belong to root (uid=0)", fix: "to measure writes, name a volume with another uid" };
  return undefined;
}

/** A JSON patch can only add to a list that exists. */
function withAllowDelete({ spec }: PersistentVolume): string {
  const hasOptions = spec.mountOptions !== undefined;
  const [path, value] = hasOptions
    ? ["/spec/mountOptions/-", "allow-delete"]
    : ["/spec/mountOptions", ["allow-delete"]];
  return JSON.stringify([{ op: "add", path, value }]);
}

/** The value of a mount option, empty for a flag; undefined: the volume does not have it. */
function optionOf(volume: PersistentVolume | undefined, name: string): string | undefined {
  const pattern = new RegExp(`^(?:--)?${name}(?:[ =]+(.*))?$`);
  const found = (volume?.spec.mountOptions ?? [])
    .map((each) => pattern.exec(each.trim()))
    .find((each) => each !== null);
  return found === undefined ? undefined : (found?.[1] ?? "");
}

function integer(flag: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new UserError(
    `${flag} ${text} is not a number from ${min} to ${max}`,
    `give a whole number, such as ${flag} 100`,
  );
}
