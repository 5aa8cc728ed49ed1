/** The CSI controller service over stores in memory, for tests of volumes from CreateVolume to DeleteVolume. */
import { createRequest } from "../../test/support/create-request.ts";
import { storesWith } from "../../test/support/fake-credentials.ts";
import { listingClient } from "../../test/support/listing-client.ts";
import { InFlight } from "../core/in-flight.ts";
import { driverName } from "../core/names.ts";
import type { Volume } from "../csi/gen/csi.ts";
import { silentLogger } from "../runtime/log.ts";
import { Secret } from "../runtime/secret.ts";
import { createVolume } from "./create-volume.ts";
import { deleteVolume } from "./delete-volume.ts";
import type { KeptData } from "./kept-data.ts";
import type { Pages } from "./listed-now.ts";
import { MemoryBuckets } from "./memory-buckets.fixture.ts";
import { bucketsOf } from "./stores/open-buckets.ts";
import { validateCapabilities } from "./validate-capabilities.ts";
import { VolumeCache } from "./volume-cache.ts";

const list = {
  minio: { endpointUrl: "http://minio" },
  cloud: { endpointUrl: "http://cloud", sts: { endpointUrl: "http://sts" } },
};
const claim = { "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "team-a" };
const call = { signal: new AbortController().signal, log: silentLogger };
const none = { volumeContext: {}, parameters: {}, secrets: {}, mutableParameters: {} };

type Texts = Readonly<Record<string, string>>;

/** An installation with these stores. What is in the stores outlives it. */
export class Controller {
  readonly contents: ReadonlyMap<string, MemoryBuckets>;
  readonly #stores: ReturnType<typeof storesWith>;
  readonly kept: KeptData[] = [];

  constructor(listed: Readonly<Record<string, unknown>> = list, contents?: ReadonlyMap<string, MemoryBuckets>) {
    this.#stores = storesWith(listed);
    this.contents = contents ?? new Map([...this.#stores.keys()].map((name) => [name, new MemoryBuckets()]));
  }

  at(store: string): MemoryBuckets {
    const found = this.contents.get(store);
    if (found === undefined) throw new Error(`no store ${store}`);
    return found;
  }

  /** The name of the request stays that of the PersistentVolume. */
  async create(name: string, parameters: Texts, secrets: Texts = {}): Promise<Volume> {
    const request = createRequest({ name, parameters: { ...claim, ...parameters }, secrets });
    return await createVolume(call, await this.#dependencies([]), request);
  }

  /** `cached`: the PersistentVolumes that the watch has seen, of those that there are. */
  async delete(volumeId: string, volumes: readonly object[] = [], cached = volumes): Promise<void> {
    await deleteVolume(call, await this.#dependencies(volumes, cached), { volumeId, secrets: {} });
  }

  async exists(volumeId: string): Promise<boolean> {
    const { volumeCapabilities } = createRequest();
    const request = { ...none, volumeId, volumeCapabilities };
    const answer = validateCapabilities(call, await this.#dependencies([]), request);
    return await answer.then(
      () => true,
      (error: { readonly kind?: string }) => {
        if (error.kind === "missing") return false;
        throw error;
      },
    );
  }

  async #dependencies(volumes: readonly object[], cached = volumes) {
    const stop = new AbortController();
    const cache = new VolumeCache(this.#stores, listing(volumes));
    const running = cache.run({ ...call, signal: stop.signal }, listingClient({ PersistentVolume: cached }), () => {});
    await cache.synced(call);
    stop.abort();
    await running;
    const key = new Secret("key");
    const openBuckets = bucketsOf({
      stores: this.#stores,
      objectStores: { of: ({ name }) => ({ as: () => this.at(name) }) },
      driverCredentials: async () => ({ accessKeyId: key, secretAccessKey: key, sessionToken: undefined }),
    });
    return {
      installation: { stores: this.#stores, podIdentity: true },
      openBuckets,
      volumes: cache,
      inFlight: new InFlight(),
      clusterId: async () => "c-1",
      secrets: { prepare: async () => undefined, volumeNotCreated: () => undefined },
      reportKept: (_call: unknown, kept: KeptData) => void this.kept.push(kept),
    };
  }
}

/** As csi-provisioner makes it; `more` changes its attributes. */
export function volumeOf(name: string, { volumeId, volumeContext }: Volume, more: Texts = {}) {
  const csi = { driver: driverName, volumeHandle: volumeId, volumeAttributes: { ...volumeContext, ...more } };
  return { metadata: { name, uid: `uid-${name}`, resourceVersion: "1" }, spec: { csi } };
}

/** Lists one object per page. */
export function listing(objects: readonly object[]): Pages {
  async function* pages() {
    for (const object of objects) yield { objects: [object], version: "9", last: false };
    yield { objects: [], version: "9", last: true };
  }
  return { pages: pages as unknown as Pages["pages"] };
}
