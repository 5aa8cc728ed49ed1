/** StorageClasses that name Secrets. csi-provisioner reads the Secrets, and does not pass on which they are. */
import { driverName } from "../../core/names.ts";
import { namespaceAndName, type SecretKey } from "../../core/protected-secrets.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds, type PersistentVolumeClaim, type StorageClass } from "../../kube/kinds.ts";
import { Store } from "../../kube/watch/store.ts";
import { type Watcher, watch } from "../../kube/watch/watch.ts";
import type { Call } from "../../runtime/call.ts";
import type { Claim } from "../domain/storage-class.ts";

export interface ClassWithSecrets {
  readonly name: string;
  /** As the class writes it, with variables; undefined: it names a Secret for mounting only. */
  readonly provisionerSecret: SecretKey | undefined;
  /** Whether Kubernetes asks for the deletion of its volumes. */
  readonly deletesVolumes: boolean;
}

export interface ClaimOfClass {
  readonly claim: PersistentVolumeClaim;
  readonly of: ClassWithSecrets;
}

/** Follows the classes, so that a claim costs a request only where there is such a class. */
export class ClassesWithSecrets {
  readonly #store = new Store<ClassWithSecrets>({});

  async follow(call: Call, client: Watcher, turned: () => void): Promise<void> {
    await watch(call, client, { kind: kinds.storageClasses, keep: namesSecret, trim, turned }, this.#store);
  }

  async synced(call: Call): Promise<void> {
    await this.#store.synced(call);
  }

  /** undefined: the claim is gone, or its class names no Secret. Waits until the cache is synced for the first time. */
  async ofClaim(
    call: Call,
    client: Pick<KubeClient, "get">,
    ref: Claim | undefined,
  ): Promise<ClaimOfClass | undefined> {
    await this.#store.synced(call);
    if (ref === undefined || this.#store.size === 0) return undefined;
    const claim = await client.get(call, kinds.persistentVolumeClaims, ref);
    const of = claim && this.#store.get(classNameOf(claim));
    return claim && of && { claim, of };
  }
}

/** As csi-provisioner resolves it: in the namespace only two of the variables are allowed. undefined: it would refuse. */
export function resolvedSecret(
  template: SecretKey,
  claim: PersistentVolumeClaim,
  volume: string,
): SecretKey | undefined {
  const { name, namespace = "", annotations = {} } = claim.metadata;
  const inNamespace = { "pv.name": volume, "pvc.namespace": namespace };
  const noted = Object.entries(annotations).map(([key, value]) => [`pvc.annotations['${key}']`, value]);
  const inName: Variables = { ...inNamespace, "pvc.name": name, ...Object.fromEntries(noted) };
  const parts = namespaceAndName(template);
  const resolved = [substitute(parts.namespace, inNamespace), substitute(parts.name, inName)];
  return resolved.every((part) => part !== undefined) ? (resolved.join("/") as SecretKey) : undefined;
}

type Variables = Readonly<Record<string, string>>;

function substitute(text: string, variables: Variables): string | undefined {
  let isKnown = true;
  const result = text.replaceAll(/\$\{([^}]*)\}/g, (_, variable: string) => {
    isKnown &&= Object.hasOwn(variables, variable);
    return variables[variable] ?? "";
  });
  return isKnown ? result : undefined;
}

/** As Kubernetes reads it: the annotation is from before the field existed, and still beats it. */
function classNameOf({ metadata, spec }: PersistentVolumeClaim): string {
  return metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec.storageClassName ?? "";
}

function namesSecret({ provisioner, parameters = {} }: StorageClass): boolean {
  if (provisioner !== driverName) return false;
  return secretFor("provisioner", parameters) !== undefined || secretFor("node-publish", parameters) !== undefined;
}

function trim({ metadata, parameters = {}, reclaimPolicy = "Delete" }: StorageClass): ClassWithSecrets {
  const provisionerSecret = secretFor("provisioner", parameters);
  return { name: metadata.name, provisionerSecret, deletesVolumes: reclaimPolicy === "Delete" };
}

/** One of its own, else the one that a class names for everything. */
function secretFor(
  use: "provisioner" | "node-publish",
  parameters: Readonly<Record<string, string>>,
): SecretKey | undefined {
  const prefixes = [`csi.storage.k8s.io/${use}-secret`, "csi.storage.k8s.io/secret"];
  const prefix = prefixes.find((each) => parameters[`${each}-name`]);
  return prefix === undefined
    ? undefined
    : `${parameters[`${prefix}-namespace`] ?? ""}/${parameters[`${prefix}-name`] ?? ""}`;
}
