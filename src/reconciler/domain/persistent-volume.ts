/** The fields of a PersistentVolume of this driver that the reconciler keeps. */
import type { CacheVolume } from "../../core/cache-volume.ts";
import { type LiveOptions, liveOptionsOf } from "../../core/live/live-options.ts";
import { moveRequestIn } from "../../core/mountpoint-pod-state.ts";
import { driverName, type PvName, type VolumeId } from "../../core/names.ts";
import {
  type AuthenticationSource,
  parseVolumeAttributes,
  type VolumeAttributes,
} from "../../core/volume-attributes.ts";

export interface S3Volume {
  readonly name: PvName;
  readonly volumeId: VolumeId;
  /** Those of the PersistentVolume: workloads with the same options share a Mountpoint Pod. */
  readonly mountOptions: readonly string[];
  /** Live ones included. */
  readonly attributes: VolumeAttributes;
  /** Whose credentials a mount of this volume uses; workloads share a Mountpoint Pod only with the same identity (SE-6). */
  readonly identity: string;
  /** Why the volume is mounted with the credentials of the driver although it refers to a Secret; undefined: it is not. */
  readonly fallback: string | undefined;
  /** Read-only for every Pod. kubelet does not pass this to the node plugin, so the Mountpoint Pod has an annotation for it. */
  readonly readOnly: boolean;
  /** From an annotation, an attribute or the mount option; undefined: the volume has no cache. */
  readonly cache: CacheVolume | undefined;
  /** The claim to which the volume is bound, as `namespace/name`. */
  readonly claim: string | undefined;
  /** The annotation with which the workloads of the volume are to move to new Mountpoint Pods. */
  readonly moveRequest: string | undefined;
  /** What annotations ask for instead of attributes and mount options. */
  readonly live: Pick<LiveOptions, "annotations" | "refusals">;
}

/** Almost no volume has a live option: they share an object. */
export const noLiveOptions: S3Volume["live"] = { annotations: {}, refusals: [] };

/** The fields of a PersistentVolume object that `s3VolumeFrom` looks at. */
export interface PersistentVolume {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec: {
    readonly mountOptions?: readonly string[];
    readonly claimRef?: { readonly namespace?: string; readonly name?: string };
    readonly csi?: {
      readonly driver: string;
      readonly volumeHandle: string;
      readonly readOnly?: boolean;
      readonly volumeAttributes?: Readonly<Record<string, string>>;
      readonly nodePublishSecretRef?: { readonly name?: string; readonly namespace?: string };
    };
  };
}

/** undefined for a volume of another driver. Throws a DriverError for a volume of this driver with invalid attributes or options. */
export function s3VolumeFrom({ metadata, spec }: PersistentVolume): S3Volume | undefined {
  const { csi } = spec;
  if (csi?.driver !== driverName) return undefined;
  const given = csi.volumeAttributes ?? {};
  // kubelet sends these to the node plugin, which refuses the volume for the same reasons.
  parseVolumeAttributes(given);
  const mountOptions = spec.mountOptions ?? [];
  const live = liveOptionsOf({ annotations: metadata.annotations ?? {}, attributes: given, mountOptions });
  const attributes = parseVolumeAttributes(live.attributes);
  const secret = csi.nodePublishSecretRef;
  // Without a nodePublishSecretRef, "secret" falls back to the credentials of the driver: StorageClasses of 2.x with a provisioner
  // Secret only rely on it.
  const hasSecret = attributes.authenticationSource === "secret" && secret !== undefined;
  return {
    name: metadata.name as PvName,
    volumeId: csi.volumeHandle as VolumeId,
    mountOptions,
    attributes,
    fallback: fallbackOf(attributes.authenticationSource, secret !== undefined),
    identity: hasSecret ? `secret:${secret.namespace}/${secret.name}` : "driver",
    readOnly: csi.readOnly ?? false,
    cache: live.cache,
    claim: claimOf(spec),
    moveRequest: moveRequestIn(metadata.annotations),
    live: isPlain(live) ? noLiveOptions : { annotations: live.annotations, refusals: live.refusals },
  };
}

function isPlain({ annotations, refusals }: LiveOptions): boolean {
  return refusals.length === 0 && Object.keys(annotations).length === 0;
}

function claimOf({ claimRef }: PersistentVolume["spec"]): string | undefined {
  return claimRef && `${claimRef.namespace}/${claimRef.name}`;
}

/** PR-10. 2.x mounts such a volume with the credentials of the driver and does not report it. */
function fallbackOf(source: AuthenticationSource, namesSecret: boolean): string | undefined {
  if (source === "secret" && !namesSecret) {
    return 'its authenticationSource is "secret", but it has no nodePublishSecretRef';
  }
  if (source === "driver" && namesSecret)
    return 'it has a nodePublishSecretRef, but its authenticationSource is not "secret"';
  return undefined;
}
