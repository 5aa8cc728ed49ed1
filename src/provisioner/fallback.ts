/** Claims that come without keys although their class names a Secret (PR-10). What a class names, csi-provisioner does not tell. */
import { DriverError } from "../core/errors.ts";
import { driverName } from "../core/names.ts";
import type { Claim } from "../core/storage-class.ts";
import type { KubeClient } from "../kube/client.ts";
import type { EventRecorder } from "../kube/events.ts";
import { kinds, type PersistentVolumeClaim, type StorageClass } from "../kube/kinds.ts";
import { Store } from "../kube/store.ts";
import { type Watcher, watch } from "../kube/watch.ts";
import type { Call } from "../runtime/call.ts";

export interface FallbackParts {
  readonly client: Pick<KubeClient, "get">;
  readonly events: Pick<EventRecorder, "record">;
  readonly allowed: boolean;
}

interface NamedSecrets {
  /** As the class writes it, NAMESPACE/NAME; undefined: it names one for mounting only. */
  readonly provisioner: string | undefined;
}

/** Follows the classes, so that a claim costs a request only where there is such a class. */
export class ClassesWithSecrets {
  readonly #store = new Store<NamedSecrets>({});

  async follow(call: Call, client: Watcher, turned: () => void): Promise<void> {
    const what = { kind: kinds.storageClasses, keep: namesSecret, trim: namedSecrets, turned };
    await watch(call, client, what, this.#store);
  }

  async synced(call: Call): Promise<void> {
    await this.#store.synced(call);
  }

  /** For a call without credentials of its own. Waits until the cache is synced for the first time. */
  async check(call: Call, { client, events, allowed }: FallbackParts, ref: Claim | undefined): Promise<void> {
    await this.#store.synced(call);
    if (ref === undefined || this.#store.size === 0) return;
    const claim = await client.get(call, kinds.persistentVolumeClaims, ref);
    const className = claim === undefined ? "" : classOf(claim);
    const named = this.#store.get(className);
    if (claim === undefined || named === undefined) return;
    if (named.provisioner !== undefined) throw noKeysIn(resolved(named.provisioner, ref), className);
    const why = `StorageClass ${className} names a node-publish Secret, but no provisioner Secret`;
    const hint =
      "Name both in the StorageClass (csi.storage.k8s.io/provisioner-secret-name and -namespace); chart value s3CredentialSecret.fallback decides whether the driver's keys stand in.";
    if (!allowed) throw new DriverError("invalid", `the driver's keys may not stand in: ${why}`, { hint });
    const message = `The bucket is made with the keys of the driver: ${why}. ${hint}`;
    const about = { kind: kinds.persistentVolumeClaims, metadata: claim.metadata };
    await events.record(call, about, { type: "Warning", reason: "DriverCredentialsUsed", message });
  }
}

/** As Kubernetes reads it: the annotation is from before the field existed, and still beats it. */
function classOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec.storageClassName ?? "";
}

/** The provisioner has found the Secret, else it would not have called: so it is empty, and somebody means to fill it. */
function noKeysIn(secret: string, className: string): DriverError {
  const message = `access_key_id in Secret ${secret} is missing or empty: it is the provisioner Secret of StorageClass ${className}`;
  return new DriverError("invalid", message, {
    hint: "Put access_key_id and secret_access_key into it; the keys of the driver do not stand in for it.",
  });
}

/** The variables that most classes use; the others stay as they are. */
function resolved(secret: string, claim: Claim): string {
  return secret.replaceAll(/\$\{pvc\.(name|namespace)\}/g, (_, field: keyof Claim) => claim[field]);
}

function namesSecret({ provisioner, parameters = {} }: StorageClass): boolean {
  if (provisioner !== driverName) return false;
  return secretFor("provisioner", parameters) !== undefined || secretFor("node-publish", parameters) !== undefined;
}

function namedSecrets({ parameters = {} }: StorageClass): NamedSecrets {
  return { provisioner: secretFor("provisioner", parameters) };
}

/** One of its own, else the one that a class names for everything. */
function secretFor(use: "provisioner" | "node-publish", parameters: Readonly<Record<string, string>>) {
  const prefixes = [`csi.storage.k8s.io/${use}-secret`, "csi.storage.k8s.io/secret"];
  const prefix = prefixes.find((each) => parameters[`${each}-name`]);
  return prefix && `${parameters[`${prefix}-namespace`]}/${parameters[`${prefix}-name`]}`;
}
