/** The fields of a PersistentVolume of this driver that the reconciler keeps. */

import { podIdentityIsOff, storeWithoutSts } from "../../core/failures/pod-identity-refusals.ts";
import {
  accountIn,
  type CredentialSource,
  driverIdentity,
  type Identity,
  podIdentity,
  secretIdentity,
} from "../../core/identity.ts";
import { type LiveOptions, liveOptionsOf } from "../../core/live/live-options.ts";
import { moveRequestIn } from "../../core/mountpoint-pod-state.ts";
import { driverName, type PvName, type VolumeId } from "../../core/names.ts";
import type { Store, StoreName, Stores } from "../../core/stores/store.ts";
import { storeOf } from "../../core/stores/store-of.ts";
import { attributeRefusal } from "../../core/volume/attribute-refusal.ts";
import type { CacheVolume } from "../../core/volume/cache-volume.ts";
import { parseVolumeAttributes, type VolumeAttributes } from "../../core/volume/volume-attributes.ts";

/** What this installation offers to volumes. */
export interface Installation {
  readonly stores: Stores;
  /** Whether volumes may use credentials for the service account of the workload. */
  readonly podIdentity: boolean;
}

export interface S3Volume {
  readonly name: PvName;
  readonly volumeId: VolumeId;
  /** Those of the PersistentVolume: workloads with the same options share a Mountpoint Pod. */
  readonly mountOptions: readonly string[];
  /** Live ones included. */
  readonly attributes: VolumeAttributes;
  readonly credentials: VolumeCredentials;
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

/** Whose credentials a mount of a volume uses. */
export type VolumeCredentials =
  | { readonly source: "driver" | "secret"; readonly identity: Identity }
  /** Those of the service account of each workload (ID-1). */
  | { readonly source: "pod"; readonly role: string | undefined; readonly store: StoreName };

/** Workloads share a Mountpoint Pod only with the same identity (SE-6). */
export function identityFor({ credentials }: S3Volume, { namespace, account }: AccountOfWorkload): Identity {
  if (credentials.source !== "pod") return credentials.identity;
  return podIdentity({ namespace, name: account }, credentials.role, credentials.store);
}

/** Whether a workload of the volume can have this identity. */
export function isIdentityOf({ credentials }: S3Volume, identity: string): boolean {
  if (credentials.source !== "pod") return identity === credentials.identity;
  const account = accountIn(identity);
  return account !== undefined && identity === podIdentity(account, credentials.role, credentials.store);
}

interface AccountOfWorkload {
  readonly namespace: string;
  /** Name of its service account. */
  readonly account: string;
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
export function s3VolumeFrom(installation: Installation, { metadata, spec }: PersistentVolume): S3Volume | undefined {
  const { csi } = spec;
  if (csi?.driver !== driverName) return undefined;
  const given = csi.volumeAttributes ?? {};
  // kubelet sends these to the node plugin, which refuses the volume for the same reasons.
  parseVolumeAttributes(given);
  const mountOptions = spec.mountOptions ?? [];
  const live = liveOptionsOf({ annotations: metadata.annotations ?? {}, attributes: given, mountOptions });
  const attributes = parseVolumeAttributes(live.attributes);
  return {
    name: metadata.name as PvName,
    volumeId: csi.volumeHandle as VolumeId,
    mountOptions,
    attributes,
    fallback: fallbackOf(attributes.authenticationSource, csi.nodePublishSecretRef !== undefined),
    credentials: credentialsOf(installation, attributes, csi.nodePublishSecretRef),
    readOnly: csi.readOnly ?? false,
    cache: live.cache,
    claim: claimOf(spec),
    moveRequest: moveRequestIn(metadata.annotations),
    live: isPlain(live) ? noLiveOptions : { annotations: live.annotations, refusals: live.refusals },
  };
}

type SecretReference = NonNullable<PersistentVolume["spec"]["csi"]>["nodePublishSecretRef"];

/**
 * Without a nodePublishSecretRef, "secret" falls back to the credentials of the driver: StorageClasses of 2.x with a provisioner Secret
 * only rely on it. A Secret may name a store for a volume that names none; only the node plugin reads it.
 */
function credentialsOf(
  { stores, podIdentity: isOffered }: Installation,
  { authenticationSource: source, store: reference, roleArn: role }: VolumeAttributes,
  secret: SecretReference,
): VolumeCredentials {
  const { name, sts } = storeNamed(stores, reference);
  if (source === "pod") {
    if (!isOffered) throw podIdentityIsOff();
    if (sts === undefined) throw storeWithoutSts(name);
    return { source, role, store: name };
  }
  if (source === "secret" && secret !== undefined) return { source, identity: secretIdentity(secret, name) };
  return { source: "driver", identity: driverIdentity(name) };
}

function storeNamed(stores: Stores, reference: VolumeAttributes["store"]): Store {
  const found = storeOf(stores, reference);
  if ("store" in found) return found.store;
  throw attributeRefusal(found.field, found.problem, found.fix);
}

function isPlain({ annotations, refusals }: LiveOptions): boolean {
  return refusals.length === 0 && Object.keys(annotations).length === 0;
}

function claimOf({ claimRef }: PersistentVolume["spec"]): string | undefined {
  return claimRef && `${claimRef.namespace}/${claimRef.name}`;
}

/** PR-10. 2.x mounts such a volume with the credentials of the driver and does not report it. */
function fallbackOf(source: CredentialSource, namesSecret: boolean): string | undefined {
  if (source === "secret" && !namesSecret) {
    return 'its authenticationSource is "secret", but it has no nodePublishSecretRef';
  }
  if (source === "driver" && namesSecret)
    return 'it has a nodePublishSecretRef, but its authenticationSource is not "secret"';
  return undefined;
}
