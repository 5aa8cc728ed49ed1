/** What we read from a PersistentVolume of this driver. */
import { type CacheVolume, plainCache } from "../../core/cache-volume.ts";
import { asksForCache } from "../../core/mount-args.ts";
import { driverName, type PvName, type VolumeId } from "../../core/names.ts";
import {
  type AuthenticationSource,
  parseVolumeAttributes,
  type VolumeAttributes,
} from "../../core/volume-attributes.ts";

export interface S3Volume {
  readonly name: PvName;
  readonly volumeId: VolumeId;
  readonly mountOptions: readonly string[];
  readonly attributes: VolumeAttributes;
  /** Whose keys a mount of this volume uses; workloads share a Mountpoint Pod only under the same identity (SE-6). */
  readonly identity: string;
  /** Why the driver's keys stand in for a Secret that was meant, by a word of the volume; undefined: they do not. */
  readonly fallback: string | undefined;
  /** Nobody may write, whatever the Pod says. kubelet does not tell the node plugin, so the Mountpoint Pod carries it. */
  readonly readOnly: boolean;
  /** By attribute or by mount option; undefined: none. */
  readonly cache: CacheVolume | undefined;
}

/** The fields of a PersistentVolume object that `s3VolumeFrom` looks at. */
export interface PersistentVolume {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly mountOptions?: readonly string[];
    readonly csi?: {
      readonly driver: string;
      readonly volumeHandle: string;
      readonly readOnly?: boolean;
      readonly volumeAttributes?: Readonly<Record<string, string>>;
      readonly nodePublishSecretRef?: { readonly name?: string; readonly namespace?: string };
    };
  };
}

/** undefined for a volume of another driver; refused with a DriverError when it is ours and its attributes or options are wrong. */
export function s3VolumeFrom({ metadata, spec }: PersistentVolume): S3Volume | undefined {
  const { csi } = spec;
  if (csi?.driver !== driverName) return undefined;
  const attributes = parseVolumeAttributes(csi.volumeAttributes ?? {});
  const mountOptions = spec.mountOptions ?? [];
  const cacheByOption = asksForCache(mountOptions) ? plainCache : undefined;
  const secret = csi.nodePublishSecretRef;
  // Without a Secret to publish with, "secret" falls back to the driver's keys: classes of 2.x that name a
  // provisioner secret only rely on it.
  const ownKeys = attributes.authenticationSource === "secret" && secret !== undefined;
  return {
    name: metadata.name as PvName,
    volumeId: csi.volumeHandle as VolumeId,
    mountOptions,
    attributes,
    fallback: fallbackOf(attributes.authenticationSource, secret !== undefined),
    identity: ownKeys ? `secret:${secret.namespace}/${secret.name}` : "driver",
    readOnly: csi.readOnly ?? false,
    cache: attributes.cache ?? cacheByOption,
  };
}

/** 2.x mounts such a volume with the driver's keys without a word (PR-10). */
function fallbackOf(source: AuthenticationSource, namesSecret: boolean): string | undefined {
  if (source === "secret" && !namesSecret) {
    return 'its authenticationSource is "secret", but it has no nodePublishSecretRef';
  }
  if (source === "driver" && namesSecret)
    return 'it has a nodePublishSecretRef, but its authenticationSource is not "secret"';
  return undefined;
}
