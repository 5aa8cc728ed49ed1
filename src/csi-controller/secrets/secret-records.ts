/** Reads and writes the ConfigMap that records which Secrets carry the driver's finalizer, and the finalizer itself. */
import { secretFinalizer } from "../../core/names.ts";
import {
  isProtectionOn,
  namespaceAndName,
  recordKey,
  recordsIn,
  recordText,
  type SecretKey,
  type SecretRecord,
} from "../../core/protected-secrets.ts";
import type { KubeClient, Ref } from "../../kube/client/client.ts";
import { addFinalizer, type Finalized, removeFinalizer } from "../../kube/finalizers.ts";
import { kinds } from "../../kube/kinds.ts";
import { unlessChanged } from "../../kube/unless-changed.ts";
import type { Call } from "../../runtime/call.ts";

export class SecretRecords {
  readonly #client: Pick<KubeClient, "get" | "patch">;
  readonly #configMap: Ref;

  constructor(client: Pick<KubeClient, "get" | "patch">, configMap: Ref) {
    this.#client = client;
    this.#configMap = configMap;
  }

  /** undefined: the ConfigMap does not exist, or it turns the protection off. */
  async read(call: Call): Promise<readonly SecretRecord[] | undefined> {
    const found = await this.#client.get(call, kinds.configMaps, this.#configMap);
    const data = found?.data ?? {};
    return found !== undefined && isProtectionOn(data) ? recordsIn(data) : undefined;
  }

  /** In as few requests as possible: every write stores the whole ConfigMap again. */
  async write(call: Call, records: readonly SecretRecord[]): Promise<void> {
    const data = Object.fromEntries(records.map((record) => [recordKey(record.secret), recordText(record)]));
    await this.#client.patch(call, kinds.configMaps, this.#configMap, { data });
  }

  /** Answers the Secrets whose records another process has renewed since they were read, because it needs them. */
  async remove(call: Call, records: readonly SecretRecord[]): Promise<readonly SecretKey[]> {
    for (;;) {
      const found = await this.#client.get(call, kinds.configMaps, this.#configMap);
      const present = records.filter(({ secret }) => found?.data?.[recordKey(secret)] !== undefined);
      const same = present.filter((record) => found?.data?.[recordKey(record.secret)] === recordText(record));
      const renewed = present.filter((record) => !same.includes(record)).map(({ secret }) => secret);
      if (found === undefined || same.length === 0) return renewed;
      const { resourceVersion } = found.metadata;
      const data = Object.fromEntries(same.map(({ secret }) => [recordKey(secret), null]));
      const patch = { metadata: { resourceVersion }, data };
      if (await unlessChanged(this.#client.patch(call, kinds.configMaps, this.#configMap, patch))) return renewed;
    }
  }

  async protect(call: Call, secret: SecretKey): Promise<"added" | "gone" | "ending"> {
    return await addFinalizer(call, this.#client, finalized(secret));
  }

  async release(call: Call, secret: SecretKey): Promise<void> {
    await removeFinalizer(call, this.#client, finalized(secret));
  }
}

function finalized(secret: SecretKey): Finalized {
  return { kind: kinds.secrets, ref: namespaceAndName(secret), finalizer: secretFinalizer };
}
