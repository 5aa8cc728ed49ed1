/** The PersistentVolumes of this driver, found by their handle: DeleteVolume is told nothing else. */
import { driverName } from "../core/names.ts";
import type { KubeClient } from "../kube/client.ts";
import { kinds, type PersistentVolume } from "../kube/kinds.ts";
import { Store } from "../kube/store.ts";
import { type Watcher, watch } from "../kube/watch.ts";
import type { Call } from "../runtime/call.ts";

export interface KnownVolume {
  readonly name: string;
  readonly uid: string;
  readonly handle: string;
  readonly bucket: string;
  readonly deletePolicy: string | undefined;
  readonly region: string | undefined;
  /** NAMESPACE/NAME of the Secret that the provisioner has noted for the deletion; undefined: it needs none. */
  readonly deletionSecret: string | undefined;
}

export class KnownVolumes {
  readonly #store = new Store<KnownVolume, "handle" | "bucket">({
    handle: (volume) => [volume.handle],
    bucket: (volume) => [volume.bucket],
  });

  /** Keeps the picture up to date until the call ends. */
  async follow(call: Call, client: Watcher, turned: () => void): Promise<void> {
    await watch(call, client, { kind: kinds.persistentVolumes, keep: isOurs, trim, turned }, this.#store);
  }

  async synced(call: Call): Promise<void> {
    await this.#store.synced(call);
  }

  /** Waits for the first picture only. */
  async byHandle(call: Call, handle: string): Promise<KnownVolume | undefined> {
    await this.#store.synced(call);
    return this.#store.by("handle", handle)[0];
  }

  async haveBucket(call: Call, bucket: string): Promise<boolean> {
    await this.#store.synced(call);
    return this.#store.by("bucket", bucket).length > 0;
  }
}

/** Of every claim there is; asked for anew, because hardly anybody needs it. */
export async function* claimUids(call: Call, client: Pick<KubeClient, "pages">): AsyncGenerator<string> {
  for await (const { objects } of client.pages(call, kinds.persistentVolumeClaims, {})) {
    for (const { metadata } of objects) yield metadata.uid;
  }
}

function isOurs({ spec }: PersistentVolume): boolean {
  return spec.csi?.driver === driverName;
}

function trim({ metadata, spec }: PersistentVolume): KnownVolume {
  const { volumeHandle = "", volumeAttributes = {} } = spec.csi ?? {};
  return {
    name: metadata.name,
    uid: metadata.uid,
    handle: volumeHandle,
    bucket: volumeAttributes["bucketName"] ?? "",
    deletePolicy: volumeAttributes["deletePolicy"],
    region: volumeAttributes["region"],
    deletionSecret: deletionSecretIn(metadata.annotations ?? {}),
  };
}

function deletionSecretIn(annotations: Readonly<Record<string, string>>): string | undefined {
  const of = (field: string) => annotations[`volume.kubernetes.io/provisioner-deletion-secret-${field}`];
  return of("name") && `${of("namespace")}/${of("name")}`;
}
