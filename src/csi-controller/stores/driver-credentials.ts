/** The driver's own credentials at each store (ID-4): those of one store are never used at another. */
import { DriverError } from "../../core/errors.ts";
import { defaultStore, type Store, valueOfStore } from "../../core/stores/store.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { kinds } from "../../kube/kinds.ts";
import { secretData } from "../../kube/secret-data.ts";
import type { Call } from "../../runtime/call.ts";
import { type Credentials, credentialsFrom } from "../../s3/credentials.ts";
import type { DriverCredentialsConfig } from "../../s3/driver-credentials.ts";
import type { ProvisionerSessions } from "./provisioner-sessions.ts";

/** Rejects with a DriverError if the driver has none. */
export type DriverCredentials = (call: Call, store: Store) => Promise<Credentials>;

export interface DriverCredentialParts {
  readonly client: Pick<KubeClient, "get">;
  readonly ofDefault: DriverCredentialsConfig;
  /** Where the Secrets of the other stores are: the namespace of the release; undefined: unknown, as under manifests of 2.x. */
  readonly namespace: string | undefined;
  readonly sessions: Pick<ProvisionerSessions, "credentials">;
}

/** Whether the driver is meant to have credentials of its own at the store. Without them, StorageClasses bring theirs. */
export function isDriverKnownAt({ name, credentials, sts }: Store): boolean {
  return name === defaultStore || credentials !== undefined || sts?.provisioner !== undefined;
}

export function driverCredentials(parts: DriverCredentialParts): DriverCredentials {
  return async (call, store) => {
    if (store.sts?.provisioner !== undefined) return await parts.sessions.credentials(call, store);
    return await fromSecret(call, parts.client, configFor(parts, store));
  };
}

function configFor({ ofDefault, namespace }: DriverCredentialParts, store: Store): DriverCredentialsConfig {
  const { name, credentials } = store;
  if (name === defaultStore) return ofDefault;
  const value = `${valueOfStore(name)}.credentialSecret.name`;
  if (credentials === undefined) return refuse(`chart value ${value} is not set`, ` for store ${name}`);
  if (namespace === undefined)
    return refuse("the namespace of the release is not known (POD_NAMESPACE)", ` for store ${name}`);
  const { secret, accessKeyIdField, secretAccessKeyField, sessionTokenField } = credentials;
  const fields = {
    accessKeyId: accessKeyIdField,
    secretAccessKey: secretAccessKeyField,
    sessionToken: sessionTokenField,
  };
  return { from: "secret", namespace, name: secret, fields };
}

/** Reads the Secret for every call: calls are rare, and the credentials may have been rotated. */
async function fromSecret(
  call: Call,
  client: Pick<KubeClient, "get">,
  config: DriverCredentialsConfig,
): Promise<Credentials> {
  if (config.from === "environment") return config.credentials ?? refuse("AWS_ACCESS_KEY_ID is not set");
  const { namespace, name, fields } = config;
  const origin = `Secret ${namespace}/${name}`;
  const secret = await client.get(call, kinds.secrets, { namespace, name });
  if (secret === undefined) return refuse(`${origin} does not exist`);
  return credentialsFrom(origin, secretData(secret), fields);
}

function refuse(problem: string, where = ""): never {
  throw new DriverError("invalid", `the driver has no credentials${where}: ${problem}`, {
    hint: "Name a Secret in the StorageClass (csi.storage.k8s.io/provisioner-secret-name and -namespace), or create the driver's Secret.",
  });
}
