/** The volume in which mount-s3 keeps what it has read. Every Mountpoint Pod has its own: mount-s3 empties it at the start. */
import { attributeRefusal, quoted } from "./attribute-refusal.ts";
import { mebibyte, parseQuantity } from "./quantity.ts";

export type CacheVolume =
  | {
      readonly kind: "emptyDir";
      readonly medium: "" | "Memory";
      /** undefined: the node's disk is the limit. */
      readonly sizeLimit: string | undefined;
    }
  | {
      readonly kind: "ephemeral";
      /** undefined: the default class of the cluster. */
      readonly storageClassName: string | undefined;
      readonly storageRequest: string;
    };

/** What the mount option `cache` alone gives. */
export const plainCache: CacheVolume = { kind: "emptyDir", medium: "", sizeLimit: undefined };

type Attributes = Readonly<Record<string, string>>;

/** What a volume asks for; undefined: no cache, unless a mount option asks for one. */
export function parseCacheVolume(raw: Attributes): CacheVolume | undefined {
  switch (raw["cache"]) {
    case undefined:
    case "":
      refuseOthers(raw, []);
      return undefined;
    case "emptyDir":
      refuseOthers(raw, emptyDirAttributes);
      return parseEmptyDir(raw);
    case "ephemeral":
      refuseOthers(raw, ephemeralAttributes);
      return parseEphemeral(raw);
    default:
      throw attributeRefusal(
        "cache",
        `${quoted(raw["cache"])} is not a kind of cache`,
        'use "emptyDir" for a directory of the node, "ephemeral" for a claim, or leave it out',
      );
  }
}

/**
 * The most that `--max-cache-size` may say, in MiB. mount-s3 overshoots by one or two percent, and kubelet evicts a Pod
 * whose volume is larger than its limit.
 */
export function maxCacheMib(cache: CacheVolume): number | undefined {
  const size = cache.kind === "emptyDir" ? cache.sizeLimit : cache.storageRequest;
  const bytes = size === undefined ? undefined : parseQuantity(size);
  return bytes === undefined ? undefined : Math.floor((bytes * 0.95) / mebibyte);
}

/** Memory that the cache takes from the container's limit: a directory in memory counts as memory of who writes there. */
export function cacheMemoryMib(cache: CacheVolume | undefined): number {
  if (cache?.kind !== "emptyDir" || cache.medium !== "Memory") return 0;
  return Math.ceil((parseQuantity(cache.sizeLimit ?? "") ?? 0) / mebibyte);
}

/** As the API server takes it, without a name. */
export function cacheVolumeSource(cache: CacheVolume) {
  if (cache.kind === "emptyDir") {
    const { medium, sizeLimit } = cache;
    return { emptyDir: { ...(medium && { medium }), ...(sizeLimit !== undefined && { sizeLimit }) } };
  }
  const { storageClassName, storageRequest } = cache;
  const spec = {
    accessModes: ["ReadWriteOnce"],
    ...(storageClassName !== undefined && { storageClassName }),
    resources: { requests: { storage: storageRequest } },
  };
  return { ephemeral: { volumeClaimTemplate: { spec } } };
}

const emptyDirAttributes = ["cacheEmptyDirSizeLimit", "cacheEmptyDirMedium"] as const;
const ephemeralAttributes = ["cacheEphemeralStorageClassName", "cacheEphemeralStorageResourceRequest"] as const;

/** The attributes that `parseCacheVolume` reads. */
export const cacheAttributes: readonly string[] = ["cache", ...emptyDirAttributes, ...ephemeralAttributes];

/** A size that nobody looks at would be taken for a limit that holds. */
function refuseOthers(raw: Attributes, own: readonly string[]): void {
  for (const [kind, attributes] of Object.entries({ emptyDir: emptyDirAttributes, ephemeral: ephemeralAttributes })) {
    const idle = attributes.find((attribute) => raw[attribute] && !own.includes(attribute));
    if (idle !== undefined) {
      throw attributeRefusal(idle, `works only with cache: ${kind}`, `set cache to "${kind}", or leave ${idle} out`);
    }
  }
}

function parseEmptyDir(raw: Attributes): CacheVolume {
  const medium = parseMedium(raw["cacheEmptyDirMedium"] ?? "");
  const limit = raw["cacheEmptyDirSizeLimit"];
  const sizeLimit = limit ? parseSize("cacheEmptyDirSizeLimit", limit) : undefined;
  if (medium === "Memory" && sizeLimit === undefined) {
    throw attributeRefusal(
      "cacheEmptyDirSizeLimit",
      "is required with cacheEmptyDirMedium Memory: without it the cache could take all memory of the node",
      "add one such as 1Gi",
    );
  }
  return { kind: "emptyDir", medium, sizeLimit };
}

function parseMedium(value: string): "" | "Memory" {
  if (value === "" || value === "Memory") return value;
  throw attributeRefusal(
    "cacheEmptyDirMedium",
    `${quoted(value)} is not a medium`,
    'use "Memory", or leave it out for the disk of the node',
  );
}

function parseEphemeral(raw: Attributes): CacheVolume {
  const request = raw["cacheEphemeralStorageResourceRequest"];
  if (!request) {
    const attribute = "cacheEphemeralStorageResourceRequest";
    throw attributeRefusal(attribute, "is required with cache: ephemeral", "add one such as 10Gi");
  }
  return {
    kind: "ephemeral",
    storageClassName: parseClass(raw["cacheEphemeralStorageClassName"]),
    storageRequest: parseSize("cacheEphemeralStorageResourceRequest", request),
  };
}

function parseClass(value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (value.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value)) return value;
  throw attributeRefusal(
    "cacheEphemeralStorageClassName",
    `${quoted(value)} is not the name of a StorageClass`,
    "use lower case letters, digits, '-' and '.'",
  );
}

/** mount-s3 keeps blocks of one MiB: in less there is nothing to keep. */
const leastBytes = 2 * mebibyte;

function parseSize(attribute: string, value: string): string {
  const bytes = parseQuantity(value);
  if (bytes === undefined)
    throw attributeRefusal(attribute, `${quoted(value)} is not an amount`, "write one such as 10Gi");
  if (bytes < leastBytes) throw attributeRefusal(attribute, `${quoted(value)} is too little`, "give it 2Mi or more");
  return value;
}
