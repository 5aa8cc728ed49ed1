/** A cache of the PersistentVolumes of this driver. DeleteVolume receives only the handle and looks up the rest here. */
import type { SecretKey } from "../core/protected-secrets.ts";
import { mayBeSameStore } from "../core/stores/address.ts";
import type { StoreName, Stores } from "../core/stores/store.ts";
import { kinds, type PersistentVolume } from "../kube/kinds.ts";
import { Store } from "../kube/watch/store.ts";
import { type Watcher, watch } from "../kube/watch/watch.ts";
import type { Call } from "../runtime/call.ts";
import { type CachedVolume, cachedVolume, isOurs } from "./cached-volume.ts";
import { type BucketLocation, baseVolumeId, wasCreatedFor, withPrefixOf } from "./domain/bucket-location.ts";
import { type Pages, volumesNow } from "./listed-now.ts";
import type { SecretChange } from "./secrets/secret-protection.ts";

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
  readonly #client: Pages;

  constructor(stores: Stores, client: Pages) {
    this.#stores = stores;
    this.#client = client;
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

  /** Waits until the cache is synced for the first time. A volume that the cache does not have is looked up at the API server. */
  async atLocation(call: Call, parsed: BucketLocation): Promise<VolumesAtLocation> {
    await this.#store.synced(call);
    const same = this.#store.by("handle", parsed.volumeId);
    // Prefix, policy and Secret are only on the PersistentVolume: without it, data would pass for deleted that is still there.
    if (same.length === 0) return this.#volumesAt(parsed, await this.#listed(call, parsed));
    return this.#volumesAt(parsed, [...new Set([...same, ...this.#store.by("bucket", parsed.bucket)])]);
  }

  /** As `atLocation`, from the API server: the cache may lack PersistentVolumes of the last minutes. For what removes data. */
  async listedAtLocation(call: Call, location: BucketLocation): Promise<VolumesAtLocation> {
    return this.#volumesAt(location, await this.#listed(call, location));
  }

  /** The buckets of all volumes that may be on the store, from the API server. */
  async bucketsListed(call: Call, store: StoreName): Promise<ReadonlySet<string>> {
    const buckets = new Set<string>();
    for await (const object of volumesNow(call, this.#client)) {
      const volume = cachedVolume(this.#stores, object);
      if (this.#mayBeAt(volume, store)) buckets.add(volume.bucket);
    }
    return buckets;
  }

  /** Those with the handle or the bucket, as the API server has them now. */
  async #listed(call: Call, { volumeId, bucket }: BucketLocation): Promise<readonly CachedVolume[]> {
    const found: CachedVolume[] = [];
    for await (const object of volumesNow(call, this.#client)) {
      const volume = cachedVolume(this.#stores, object);
      if (volume.handle === volumeId || volume.bucket === bucket) found.push(volume);
    }
    return found;
  }

  #volumesAt(parsed: BucketLocation, found: readonly CachedVolume[]): VolumesAtLocation {
    const same = found.filter(({ handle }) => handle === parsed.volumeId);
    const volume = same.find(({ name }) => wasCreatedFor(parsed, name)) ?? same[0];
    const location = withPrefixOf(parsed, volume?.prefix);
    return {
      location,
      volume,
      duplicates: same.filter((each) => each !== volume),
      sharers: found.filter((each) => each.handle !== parsed.volumeId && this.#overlaps(each, location)),
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
    return this.#store.by("bucket", bucket).some((volume) => this.#mayBeAt(volume, store));
  }

  /**
   * A volume of a whole shared bucket does not overlap with a prefix: operators use such volumes to look at all claims. The last directory of
   * the prefix is that of one volume, and stands whole in the attribute or in the mount option of a volume that has it.
   */
  #overlaps(volume: CachedVolume, { volumeId, store, bucket, prefix }: BucketLocation): boolean {
    if (volume.bucket !== bucket || !this.#mayBeAt(volume, store)) return false;
    return prefix === undefined || volume.prefixes.some((each) => each.includes(`${baseVolumeId(volumeId)}/`));
  }

  #mayBeAt(volume: CachedVolume, store: StoreName): boolean {
    return volume.store === undefined || mayBeSameStore(this.#stores, volume.store, store);
  }
}
