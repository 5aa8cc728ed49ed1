/** What the controller keeps of a PersistentVolume of this driver. */
import { driverName } from "../core/names.ts";
import { deletionSecretIn, type SecretKey } from "../core/protected-secrets.ts";
import type { StoreName, Stores } from "../core/stores/store.ts";
import { storeOf } from "../core/stores/store-of.ts";
import type { PersistentVolume } from "../kube/kinds.ts";

export interface CachedVolume {
  readonly name: string;
  readonly uid: string;
  readonly handle: string;
  readonly bucket: string;
  /** undefined: a node-publish Secret may name it, or its address is not listed any more. */
  readonly store: StoreName | undefined;
  /** The attribute `endpointUrl`: where the store was when the volume was created. */
  readonly endpointUrl: string | undefined;
  /** The attribute `prefix`. */
  readonly prefix: string | undefined;
  /** The attribute `prefix` and the mount options `prefix`, unparsed: either may contain the prefix of another volume. */
  readonly prefixes: readonly string[];
  readonly deletePolicy: string | undefined;
  readonly region: string | undefined;
  /** The Secret that csi-provisioner recorded for DeleteVolume in an annotation; undefined: none. */
  readonly deletionSecret: SecretKey | undefined;
  /** deletionSecret, unless DeleteVolume is never called (reclaim policy Retain) or needs no credentials (deletePolicy retain). */
  readonly neededSecret: SecretKey | undefined;
}

export function isOurs({ spec }: PersistentVolume): boolean {
  return spec.csi?.driver === driverName;
}

export function cachedVolume(stores: Stores, object: PersistentVolume): CachedVolume {
  const { metadata, spec } = object;
  const { volumeHandle = "", volumeAttributes = {} } = spec.csi ?? {};
  return {
    name: metadata.name,
    uid: metadata.uid,
    handle: volumeHandle,
    bucket: volumeAttributes["bucketName"] ?? "",
    store: storeIn(stores, spec),
    endpointUrl: volumeAttributes["endpointUrl"] || undefined,
    prefix: volumeAttributes["prefix"],
    prefixes: [volumeAttributes["prefix"] ?? "", ...(spec.mountOptions ?? []).filter(isPrefixOption)],
    deletePolicy: volumeAttributes["deletePolicy"],
    region: volumeAttributes["region"],
    ...secretsOf(object),
  };
}

/** A name stays the name of the store while the store is not listed. */
function storeIn(stores: Stores, { csi }: PersistentVolume["spec"]): StoreName | undefined {
  const { store, endpointUrl } = csi?.volumeAttributes ?? {};
  if (store) return stores.get(store as StoreName)?.name ?? (store as StoreName);
  if (!endpointUrl && csi?.nodePublishSecretRef !== undefined) return undefined;
  const found = storeOf(stores, { store, endpointUrl });
  return "store" in found ? found.store.name : undefined;
}

export function secretsOf({ metadata, spec }: PersistentVolume): Pick<CachedVolume, "deletionSecret" | "neededSecret"> {
  const deletionSecret = deletionSecretIn(metadata.annotations ?? {});
  const deletePolicy = spec.csi?.volumeAttributes?.["deletePolicy"];
  const needsNone = spec.persistentVolumeReclaimPolicy === "Retain" || deletePolicy === "retain";
  return { deletionSecret, neededSecret: needsNone ? undefined : deletionSecret };
}

function isPrefixOption(option: string): boolean {
  return /^\s*-*prefix[= ]/.test(option);
}
