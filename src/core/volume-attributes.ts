/** The only place that reads the volume's string map. Past this line a volume is typed or it is refused. */
import { quoted, attributeRefusal as refusal } from "./attribute-refusal.ts";
import { type CacheVolume, parseCacheVolume } from "./cache-volume.ts";
import { type ContainerResources, parseContainerResources } from "./container-resources.ts";
import { type PidNamespace, parsePidNamespace } from "./pid-namespace.ts";
import { type Proxy, parseProxy } from "./proxy.ts";

export interface VolumeAttributes {
  readonly bucket: string;
  readonly authenticationSource: AuthenticationSource;
  /** Account of the Mountpoint Pod; undefined: the default of its namespace. */
  readonly serviceAccountName: string | undefined;
  /** undefined: the driver's own region. A `region` mount option beats both. */
  readonly region: string | undefined;
  /** Where in the bucket the volume lies, with a slash at its end; undefined: it is the whole bucket. */
  readonly prefix: string | undefined;
  /** Of the Mountpoint Pod's container, as far as the volume says; the installation has defaults for the rest. */
  readonly resources: ContainerResources;
  /** undefined: none, unless the mount option `cache` asks for one. */
  readonly cache: CacheVolume | undefined;
  /** undefined: the choice of the installation. */
  readonly pidNamespace: PidNamespace | undefined;
  /** Variables that differ from those of the driver. */
  readonly proxy: Proxy;
}

/** Whose keys: those of the driver, or those of a Secret that the volume names. */
export type AuthenticationSource = "driver" | "secret";

/** Attributes that nobody knows are left alone: kubelet adds its own, and 2.x ignored the rest. */
export function parseVolumeAttributes(raw: Readonly<Record<string, string>>): VolumeAttributes {
  return {
    bucket: parseBucket(raw["bucketName"]),
    authenticationSource: parseAuthenticationSource(raw["authenticationSource"]),
    serviceAccountName: parseServiceAccountName(raw["mountpointPodServiceAccountName"]),
    region: parseRegion(raw["region"]),
    prefix: parsePrefix(raw["prefix"]),
    resources: parseContainerResources(raw),
    cache: parseCacheVolume(raw),
    pidNamespace: parsePidNamespace(raw),
    proxy: parseProxy(raw),
  };
}

function parseBucket(value: string | undefined): string {
  if (!value) throw refusal("bucketName", "is required", "name the bucket of this volume");
  // It stands before the options on mount-s3's command line: there it must not read as one of them.
  if (!/^[A-Za-z0-9]\P{Cc}*$/u.test(value) || value !== value.trim()) {
    throw refusal("bucketName", `${quoted(value)} is not the name of a bucket`, "name the bucket of this volume");
  }
  return value;
}

function parseAuthenticationSource(value: string | undefined): AuthenticationSource {
  switch (value) {
    case undefined:
    case "":
    case "driver":
      return "driver";
    case "secret":
      return "secret";
    case "pod":
      throw refusal(
        "authenticationSource",
        '"pod" is not supported: S3 keys do not belong to service accounts here',
        'use "secret" with a nodePublishSecretRef for keys of this volume, or "driver" for those of the driver',
      );
    default:
      throw refusal(
        "authenticationSource",
        `${quoted(value)} is not known: only "driver" and "secret" are`,
        'use "driver" (or leave it out) for the keys of the driver, or "secret" with a nodePublishSecretRef',
      );
  }
}

function parseServiceAccountName(value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (value.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value)) return value;
  throw refusal(
    "mountpointPodServiceAccountName",
    `${quoted(value)} is not the name of a service account`,
    "use lower case letters, digits, '-' and '.'",
  );
}

/** Dynamic volumes in a shared bucket have one; mount-s3 takes nothing but whole directories. */
function parsePrefix(value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (/^[^/\p{Cc}]\P{Cc}*\/$/u.test(value)) return value;
  throw refusal("prefix", `${quoted(value)} is not a prefix`, "end it with a slash, and do not begin it with one");
}

function parseRegion(value: string | undefined): string | undefined {
  if (!value) return undefined;
  if (/^[A-Za-z0-9][-_A-Za-z0-9]*$/.test(value)) return value;
  throw refusal("region", `${quoted(value)} is not the name of a region`, "use a name such as us-east-1");
}
