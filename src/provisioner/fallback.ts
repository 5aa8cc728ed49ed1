/** Claims whose class names a Secret for mounting only: their buckets are made with the driver's keys, and nobody would notice (PR-10). */
import { DriverError } from "../core/errors.ts";
import { driverName } from "../core/names.ts";
import type { Claim } from "../core/storage-class.ts";
import type { KubeClient } from "../kube/client.ts";
import type { EventRecorder } from "../kube/events.ts";
import { kinds, type StorageClass } from "../kube/kinds.ts";
import { Store } from "../kube/store.ts";
import { type Watcher, watch } from "../kube/watch.ts";
import type { Call } from "../runtime/call.ts";

export interface FallbackParts {
  readonly client: Pick<KubeClient, "get">;
  readonly events: Pick<EventRecorder, "record">;
  readonly allowed: boolean;
}

/** Follows the classes, so that a claim costs a request only where there is such a class. */
export class OneSidedClasses {
  readonly #store = new Store<true>({});

  async follow(call: Call, client: Watcher, turned: () => void): Promise<void> {
    const what = { kind: kinds.storageClasses, keep: isOneSided, trim: () => true as const, turned };
    await watch(call, client, what, this.#store);
  }

  async synced(call: Call): Promise<void> {
    await this.#store.synced(call);
  }

  /** For a call without keys of its own. */
  async check(call: Call, { client, events, allowed }: FallbackParts, ref: Claim | undefined): Promise<void> {
    if (ref === undefined || this.#store.values().next().done) return;
    const claim = await client.get(call, kinds.persistentVolumeClaims, ref);
    const className = claim?.spec.storageClassName ?? "";
    if (claim === undefined || this.#store.get(className) === undefined) return;
    const why = `StorageClass ${className} names a node-publish Secret, but no provisioner Secret`;
    const hint =
      "Name both in the StorageClass (csi.storage.k8s.io/provisioner-secret-name and -namespace); chart value s3CredentialSecret.fallback decides whether the driver's keys stand in.";
    if (!allowed) throw new DriverError("invalid", `the driver's keys may not stand in: ${why}`, { hint });
    const message = `The bucket is made with the keys of the driver: ${why}. ${hint}`;
    const about = { kind: kinds.persistentVolumeClaims, metadata: claim.metadata };
    await events.record(call, about, { type: "Warning", reason: "DriverCredentialsUsed", message });
  }
}

function isOneSided({ provisioner, parameters = {} }: StorageClass): boolean {
  const names = (use: string) => Boolean(parameters[`csi.storage.k8s.io/${use}-secret-name`]);
  return provisioner === driverName && names("node-publish") && !names("provisioner");
}
