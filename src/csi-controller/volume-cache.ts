/** The PersistentVolumes of this driver, found by their handle: DeleteVolume is told nothing else. */

import { driverName } from "../core/names.ts";
import type { SecretKey } from "../core/protected-secrets.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { kinds, type PersistentVolume } from "../kube/kinds.ts";
import { Store } from "../kube/watch/store.ts";
import { type Watcher, watch } from "../kube/watch/watch.ts";
import type { Call } from "../runtime/call.ts";
import { isPlaceOf, type Place } from "./domain/dynamic-volume.ts";
import type { SecretChange } from "./secrets/secret-protection.ts";

export interface KnownVolume {
  readonly name: string;
  readonly uid: string;
  readonly handle: string;
  readonly bucket: string;
  /** Attribute `prefix`, and mount options as they are written: either may lead into the prefix of another volume. */
  readonly prefixes: readonly string[];
  readonly deletePolicy: string | undefined;
  readonly region: string | undefined;
  /** The Secret that csi-provisioner has noted for the deletion; undefined: it needs none. */
  readonly deletionSecret: SecretKey | undefined;
  /** The same, unless no deletion will ever be asked for or the data stays in any case. */
  readonly neededSecret: SecretKey | undefined;
}

/** The PersistentVolumes of one place. */
export interface VolumesOfPlace {
  /** The one that the place was made for, else any other with its handle. DeleteVolume does not say which one is deleted. */
  readonly volume: KnownVolume | undefined;
  /** With the same handle. */
  readonly duplicates: readonly KnownVolume[];
  /** With another handle, and data in the same place. */
  readonly sharers: readonly KnownVolume[];
}

export class KnownVolumes {
  readonly #store = new Store<KnownVolume, "handle" | "bucket" | "neededSecret">({
    handle: (volume) => [volume.handle],
    bucket: (volume) => [volume.bucket],
    neededSecret: ({ neededSecret }) => (neededSecret === undefined ? [] : [neededSecret]),
  });

  /** Keeps the picture up to date until the call ends. */
  async follow(call: Call, client: Watcher, turned: () => void): Promise<void> {
    await watch(call, client, { kind: kinds.persistentVolumes, keep: isOurs, trim, turned }, this.#store);
  }

  async synced(call: Call): Promise<void> {
    await this.#store.synced(call);
  }

  /** Waits until the cache is synced for the first time. */
  async haveHandle(call: Call, handle: string): Promise<boolean> {
    await this.#store.synced(call);
    return this.#store.by("handle", handle).length > 0;
  }

  /** Waits until the cache is synced for the first time. */
  async ofPlace(call: Call, place: Place): Promise<VolumesOfPlace> {
    await this.#store.synced(call);
    const same = this.#store.by("handle", place.id);
    const volume = same.find(({ name }) => isPlaceOf(place, name)) ?? same[0];
    return {
      volume,
      duplicates: same.filter((each) => each !== volume),
      sharers: this.#store
        .by("bucket", place.bucket)
        .filter((each) => each.handle !== place.id && overlaps(each, place)),
    };
  }

  needSecret(secret: SecretKey): boolean {
    return this.#store.by("neededSecret", secret).length > 0;
  }

  onSecretChange(listener: (change: SecretChange) => void): Disposable {
    return this.#store.subscribe(({ before, after }) =>
      listener({ handle: after?.handle, before: before?.neededSecret, after: after?.neededSecret }),
    );
  }

  async haveBucket(call: Call, bucket: string): Promise<boolean> {
    await this.#store.synced(call);
    return this.#store.by("bucket", bucket).length > 0;
  }
}

/** A volume of the whole bucket does not count for a prefix: that is how operators look at what claims share. */
function overlaps({ prefixes }: KnownVolume, { prefix }: Place): boolean {
  return prefix === undefined || prefixes.some((each) => each.includes(prefix));
}

/** Of every claim there is; asked for anew, because hardly anybody needs it. */
export async function* claimUids(call: Call, client: Pick<KubeClient, "pages">): AsyncGenerator<string> {
  for await (const { objects } of client.pages(call, kinds.persistentVolumeClaims, {})) {
    for (const { metadata } of objects) yield metadata.uid;
  }
}

/** Read from the API server: before a Secret is released, no cache is trusted. */
export async function secretsNeededNow(call: Call, client: Pick<KubeClient, "pages">): Promise<ReadonlySet<SecretKey>> {
  const needed = new Set<SecretKey>();
  for await (const { objects } of client.pages(call, kinds.persistentVolumes, {})) {
    for (const { neededSecret } of objects.filter(isOurs).map(trim)) if (neededSecret) needed.add(neededSecret);
  }
  return needed;
}

function isOurs({ spec }: PersistentVolume): boolean {
  return spec.csi?.driver === driverName;
}

function trim({ metadata, spec }: PersistentVolume): KnownVolume {
  const { volumeHandle = "", volumeAttributes = {} } = spec.csi ?? {};
  const deletePolicy = volumeAttributes["deletePolicy"];
  const deletionSecret = deletionSecretIn(metadata.annotations ?? {});
  const needsNone = spec.persistentVolumeReclaimPolicy === "Retain" || deletePolicy === "retain";
  return {
    name: metadata.name,
    uid: metadata.uid,
    handle: volumeHandle,
    bucket: volumeAttributes["bucketName"] ?? "",
    prefixes: [volumeAttributes["prefix"] ?? "", ...(spec.mountOptions ?? []).filter(isPrefixOption)],
    deletePolicy,
    region: volumeAttributes["region"],
    deletionSecret,
    neededSecret: needsNone ? undefined : deletionSecret,
  };
}

function isPrefixOption(option: string): boolean {
  return /^\s*-*prefix[= ]/.test(option);
}

function deletionSecretIn(annotations: Readonly<Record<string, string>>): SecretKey | undefined {
  const noted = (field: string) => annotations[`volume.kubernetes.io/provisioner-deletion-secret-${field}`];
  return noted("name") ? `${noted("namespace")}/${noted("name")}` : undefined;
}
