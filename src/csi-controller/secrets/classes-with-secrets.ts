/** A cache of the StorageClasses that name Secrets. csi-provisioner sends the content of a Secret, but not its name. */
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
  /** With unresolved variables; undefined: the StorageClass names only a node-publish Secret. */
  readonly provisionerSecret: SecretKey | undefined;
  /** Whether the reclaim policy is Delete, so that Kubernetes calls DeleteVolume. */
  readonly deletesVolumes: boolean;
}

export interface ClaimOfClass {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: ClassWithSecrets;
}

/** Without such a StorageClass in the cluster, CreateVolume sends no request for the claim. */
export class ClassesWithSecrets {
  readonly #store = new Store<ClassWithSecrets>({});

  /** Runs until the call ends. `turned` is called whenever the watch makes progress. */
  async run(call: Call, client: Watcher, turned: () => void): Promise<void> {
    await watch(call, client, { kind: kinds.storageClasses, keep: namesSecret, trim, turned }, this.#store);
  }

  async synced(call: Call): Promise<void> {
    await this.#store.synced(call);
  }

  /** undefined: the claim does not exist, or its StorageClass names no Secret. Waits until the cache is synced for the first time. */
  async ofClaim(
    call: Call,
    client: Pick<KubeClient, "get">,
    ref: Claim | undefined,
  ): Promise<ClaimOfClass | undefined> {
    await this.#store.synced(call);
    if (ref === undefined || this.#store.size === 0) return undefined;
    const claim = await client.get(call, kinds.persistentVolumeClaims, ref);
    const storageClass = claim && this.#store.get(classNameOf(claim));
    return claim && storageClass && { claim, storageClass };
  }
}

/** Resolves variables as csi-provisioner does, which allows fewer of them in the namespace. undefined: it refuses the template. */
export function resolvedSecret(
  template: SecretKey,
  claim: PersistentVolumeClaim,
  volume: string,
): SecretKey | undefined {
  const { name, namespace = "", annotations = {} } = claim.metadata;
  const inNamespace = { "pv.name": volume, "pvc.namespace": namespace };
  const annotated = Object.entries(annotations).map(([key, value]) => [`pvc.annotations['${key}']`, value]);
  const inName: Variables = { ...inNamespace, "pvc.name": name, ...Object.fromEntries(annotated) };
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

/** The beta annotation, which is older than the field, still takes precedence in Kubernetes. */
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

/** The Secret for this use, else the one for all uses (csi.storage.k8s.io/secret-name). */
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
