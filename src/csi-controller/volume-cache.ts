/** A cache of the PersistentVolumes of this driver. DeleteVolume receives only the handle and looks up the rest here. */
import { driverName } from "../core/names.ts";
import { deletionSecretIn, type SecretKey } from "../core/protected-secrets.ts";
import type { StoreName, Stores } from "../core/stores/store.ts";
import { storeOf } from "../core/stores/store-of.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { kinds, type PersistentVolume } from "../kube/kinds.ts";
import { Store } from "../kube/watch/store.ts";
import { type Watcher, watch } from "../kube/watch/watch.ts";
import type { Call } from "../runtime/call.ts";
import { type BucketLocation, wasCreatedFor, withPrefixOf } from "./domain/bucket-location.ts";
import type { SecretChange } from "./secrets/secret-protection.ts";

export interface CachedVolume {
  readonly name: string;
  readonly uid: string;
  readonly handle: string;
  readonly bucket: string;
  /** undefined: a node-publish Secret may name it, or its address is not listed any more. */
  readonly store: StoreName | undefined;
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

export interface VolumesAtLocation {
  /** With the whole prefix, of which the volume ID has only the end. */
  readonly location: BucketLocation;
  /** The PersistentVolume that the location was created for, else any with its handle: DeleteVolume does not name it. */
  readonly volume: CachedVolume | undefined;
  /** Others with the same handle. */
  readonly duplicates: readonly CachedVolume[];
  /** Those with another handle and the same bucket or prefix, if they may be on the same store. */
  readonly sharers: readonly CachedVolume[];
}

export class VolumeCache {
  readonly #store = new Store<CachedVolume, "handle" | "bucket" | "neededSecret">({
    handle: (volume) => [volume.handle],
    bucket: (volume) => [volume.bucket],
    neededSecret: ({ neededSecret }) => (neededSecret === undefined ? [] : [neededSecret]),
  });
  readonly #stores: Stores;

  constructor(stores: Stores) {
    this.#stores = stores;
  }

  /** Runs until the call ends. `turned` is called whenever the watch makes progress. */
  async run(call: Call, client: Watcher, turned: () => void): Promise<void> {
    const trim = (object: PersistentVolume) => cachedVolume(this.#stores, object);
    await watch(call, client, { kind: kinds.persistentVolumes, keep: isOurs, trim, turned }, this.#store);
  }

  async synced(call: Call): Promise<void> {
    await this.#store.synced(call);
  }

  /** Waits until the cache is synced for the first time. */
  async hasHandle(call: Call, handle: string): Promise<boolean> {
    await this.#store.synced(call);
    return this.#store.by("handle", handle).length > 0;
  }

  /** Waits until the cache is synced for the first time. */
  async atLocation(call: Call, parsed: BucketLocation): Promise<VolumesAtLocation> {
    await this.#store.synced(call);
    const same = this.#store.by("handle", parsed.volumeId);
    const volume = same.find(({ name }) => wasCreatedFor(parsed, name)) ?? same[0];
    const location = withPrefixOf(parsed, volume?.prefix);
    return {
      location,
      volume,
      duplicates: same.filter((each) => each !== volume),
      sharers: this.#store
        .by("bucket", location.bucket)
        .filter((each) => each.handle !== location.volumeId && overlaps(each, location)),
    };
  }

  needsSecret(secret: SecretKey): boolean {
    return this.#store.by("neededSecret", secret).length > 0;
  }

  /** Secrets that PersistentVolumes need for their deletion. */
  neededSecrets(): ReadonlySet<SecretKey> {
    return new Set([...this.#store.values()].flatMap(({ neededSecret }) => neededSecret ?? []));
  }

  onSecretChange(listener: (change: SecretChange) => void): Disposable {
    return this.#store.subscribe(({ before, after }) =>
      listener({ handle: after?.handle, before: before?.neededSecret, after: after?.neededSecret }),
    );
  }

  /** Waits until the cache is synced for the first time. */
  async hasBucket(call: Call, store: StoreName, bucket: string): Promise<boolean> {
    await this.#store.synced(call);
    return this.#store.by("bucket", bucket).some((volume) => mayBeAt(volume, store));
  }
}

/** A volume of a whole shared bucket does not overlap with a prefix: operators use such volumes to look at all claims. */
function overlaps(volume: CachedVolume, { store, prefix }: BucketLocation): boolean {
  return mayBeAt(volume, store) && (prefix === undefined || volume.prefixes.some((each) => each.includes(prefix)));
}

function mayBeAt(volume: CachedVolume, store: StoreName): boolean {
  return volume.store === undefined || volume.store === store;
}

/** The UIDs of all claims, listed from the API server: only the search for orphaned buckets needs them. */
export async function* claimUids(call: Call, client: Pick<KubeClient, "pages">): AsyncGenerator<string> {
  for await (const { objects } of client.pages(call, kinds.persistentVolumeClaims, {})) {
    for (const { metadata } of objects) yield metadata.uid;
  }
}

/** Listed from the API server: the cache may be minutes old, and a released Secret can be deleted at once. */
export async function secretsNeededNow(call: Call, client: Pick<KubeClient, "pages">): Promise<ReadonlySet<SecretKey>> {
  const needed = new Set<SecretKey>();
  for await (const { objects } of client.pages(call, kinds.persistentVolumes, {})) {
    for (const object of objects.filter(isOurs)) {
      const { neededSecret } = secretsOf(object);
      if (neededSecret) needed.add(neededSecret);
    }
  }
  return needed;
}

function isOurs({ spec }: PersistentVolume): boolean {
  return spec.csi?.driver === driverName;
}

function cachedVolume(stores: Stores, object: PersistentVolume): CachedVolume {
  const { metadata, spec } = object;
  const { volumeHandle = "", volumeAttributes = {} } = spec.csi ?? {};
  return {
    name: metadata.name,
    uid: metadata.uid,
    handle: volumeHandle,
    bucket: volumeAttributes["bucketName"] ?? "",
    store: storeIn(stores, spec),
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

function secretsOf({ metadata, spec }: PersistentVolume): Pick<CachedVolume, "deletionSecret" | "neededSecret"> {
  const deletionSecret = deletionSecretIn(metadata.annotations ?? {});
  const deletePolicy = spec.csi?.volumeAttributes?.["deletePolicy"];
  const needsNone = spec.persistentVolumeReclaimPolicy === "Retain" || deletePolicy === "retain";
  return { deletionSecret, neededSecret: needsNone ? undefined : deletionSecret };
}

function isPrefixOption(option: string): boolean {
  return /^\s*-*prefix[= ]/.test(option);
}
