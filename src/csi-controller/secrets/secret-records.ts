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

  async write(call: Call, record: SecretRecord): Promise<void> {
    const data = { [recordKey(record.secret)]: recordText(record) };
    await this.#client.patch(call, kinds.configMaps, this.#configMap, { data });
  }

  /** false: another process has rewritten the record since it was read, because it needs the Secret. */
  async remove(call: Call, record: SecretRecord): Promise<boolean> {
    const key = recordKey(record.secret);
    for (;;) {
      const found = await this.#client.get(call, kinds.configMaps, this.#configMap);
      const text = found?.data?.[key];
      if (found === undefined || text === undefined) return true;
      if (text !== recordText(record)) return false;
      const { resourceVersion } = found.metadata;
      const patch = { metadata: { resourceVersion }, data: { [key]: null } };
      if (await unlessChanged(this.#client.patch(call, kinds.configMaps, this.#configMap, patch))) return true;
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
