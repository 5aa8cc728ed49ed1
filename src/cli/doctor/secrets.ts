/** Which Secrets the installation refers to, and which keys they have. Values are never kept. */

import type { PersistentVolume, StorageClass, Workload } from "../../topology/objects.ts";
import { isForbidden, isNotFound } from "../api/request-errors.ts";
import type { SecretState } from "./installation.ts";
import type { Reader } from "./read-installation.ts";
import { storesOf } from "./stores.ts";

export interface SecretUse {
  /** `NAMESPACE/NAME`. */
  readonly secret: string;
  /** Who refers to it, in words. */
  readonly by: string;
  readonly keys: readonly string[];
}

interface Users {
  readonly volumes: readonly PersistentVolume[];
  readonly classes: readonly StorageClass[];
  readonly deployment: Workload | undefined;
}

const volumeKeys = ["access_key_id", "secret_access_key"];

/** Pure: every Secret with a fixed name. Names with templates are known only once a claim exists. */
export function secretUses({ volumes, classes, deployment }: Users): readonly SecretUse[] {
  const ofVolumes = volumes.flatMap(({ metadata, spec: { csi } }) => {
    const ref = csi?.nodePublishSecretRef;
    if (ref === undefined || csi?.volumeAttributes?.["authenticationSource"] !== "secret") return [];
    const secret = `${ref.namespace ?? ""}/${ref.name ?? ""}`;
    return [{ secret, by: `PersistentVolume ${metadata.name}`, keys: volumeKeys }];
  });
  return [
    ...driverSecret(deployment),
    ...secretsOfStores(deployment),
    ...classes.flatMap(secretsOfClass),
    ...ofVolumes,
  ];
}

export function driverSecret(deployment: Workload | undefined): readonly SecretUse[] {
  const flags = deployment?.spec.template.spec.containers.find(({ name }) => name === "s3-csi-controller")?.args ?? [];
  const flag = (name: string) => flags.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
  const secret = flag("credentials-secret");
  if (secret === undefined) return [];
  const keys = [flag("access-key-id-field") ?? "access_key_id", flag("secret-access-key-field") ?? "secret_access_key"];
  return [{ secret, by: "the driver", keys }];
}

/** The driver's credentials for the stores that the chart lists. */
function secretsOfStores(deployment: Workload | undefined): readonly SecretUse[] {
  return [...(storesOf(deployment)?.values() ?? [])].flatMap(({ name, credentials }) => {
    if (credentials === undefined) return [];
    const secret = `${deployment?.metadata.namespace}/${credentials.secret}`;
    const keys = [credentials.accessKeyIdField, credentials.secretAccessKeyField];
    return [{ secret, by: `store ${name}`, keys }];
  });
}

function secretsOfClass({ metadata, parameters = {} }: StorageClass): readonly SecretUse[] {
  return ["provisioner", "node-publish"].flatMap((use) => {
    const name = parameters[`csi.storage.k8s.io/${use}-secret-name`];
    const namespace = parameters[`csi.storage.k8s.io/${use}-secret-namespace`];
    if (name === undefined || namespace === undefined || `${name}${namespace}`.includes("${")) return [];
    return [{ secret: `${namespace}/${name}`, by: `StorageClass ${metadata.name}`, keys: volumeKeys }];
  });
}

export async function readSecrets(reader: Reader, users: Users): Promise<ReadonlyMap<string, SecretState>> {
  const names = [...new Set(secretUses(users).map(({ secret }) => secret))];
  return new Map(await Promise.all(names.map(async (name) => [name, await stateOf(reader, name)] as const)));
}

async function stateOf({ signal, api }: Reader, secret: string): Promise<SecretState> {
  const [namespace = "", name = ""] = secret.split("/");
  try {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets/${encodeURIComponent(name)}`;
    const { data = {} } = await api.json<{ data?: Record<string, string> }>(signal, { path });
    const emptyKeys = Object.entries(data).flatMap(([key, value]) => (value === "" ? [key] : []));
    return { state: "found", keys: new Set(Object.keys(data)), emptyKeys: new Set(emptyKeys) };
  } catch (error) {
    if (isNotFound(error)) return { state: "missing" };
    if (isForbidden(error)) return { state: "unreadable" };
    throw error;
  }
}
