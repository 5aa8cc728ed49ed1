/** Where the driver finds its own credentials for the object store. */
import type { Secret } from "../runtime/secret.ts";
import { type NamespacedName, namespacedName, secret, text, toggle } from "../runtime/settings/kinds.ts";
import type { Settings } from "../runtime/settings/settings.ts";
import { type CredentialFields, type Credentials, credentialsFrom, volumeCredentialFields } from "./credentials.ts";

/** Our chart names a Secret; manifests of 2.x put the content of the Secret into the environment. */
export type DriverCredentialsConfig =
  | { readonly from: "secret"; readonly namespace: string; readonly name: string; readonly fields: CredentialFields }
  | { readonly from: "environment"; readonly credentials: Credentials | undefined };

const variables: CredentialFields = {
  accessKeyId: "AWS_ACCESS_KEY_ID",
  secretAccessKey: "AWS_SECRET_ACCESS_KEY",
  sessionToken: "AWS_SESSION_TOKEN",
};

export const driverCredentialSettings = {
  credentialsSecret: { flag: "credentials-secret", kind: namespacedName },
  accessKeyIdField: { flag: "access-key-id-field", kind: text, default: volumeCredentialFields.accessKeyId },
  secretAccessKeyField: {
    flag: "secret-access-key-field",
    kind: text,
    default: volumeCredentialFields.secretAccessKey,
  },
  sessionTokenField: { flag: "session-token-field", kind: text, default: volumeCredentialFields.sessionToken },
  noDriverCredentialsFallback: { flag: "no-driver-credentials-fallback", kind: toggle, default: false },
  accessKeyId: { variable: variables.accessKeyId, kind: secret },
  secretAccessKey: { variable: variables.secretAccessKey, kind: secret },
  sessionToken: { variable: variables.sessionToken, kind: secret },
} as const satisfies Settings;

interface DriverCredentialValues {
  readonly credentialsSecret: NamespacedName | undefined;
  readonly accessKeyIdField: string;
  readonly secretAccessKeyField: string;
  readonly sessionTokenField: string;
  readonly accessKeyId: Secret | undefined;
  readonly secretAccessKey: Secret | undefined;
  readonly sessionToken: Secret | undefined;
}

/** Throws if the environment holds a part of the credentials only. */
export function driverCredentialsFrom(values: DriverCredentialValues): DriverCredentialsConfig {
  if (values.credentialsSecret === undefined)
    return { from: "environment", credentials: environmentCredentials(values) };
  const fields = {
    accessKeyId: values.accessKeyIdField,
    secretAccessKey: values.secretAccessKeyField,
    sessionToken: values.sessionTokenField,
  };
  return { from: "secret", ...values.credentialsSecret, fields };
}

/** Without credentials of its own, the driver still serves volumes and classes that bring theirs (PR-7). */
function environmentCredentials({
  accessKeyId,
  secretAccessKey,
  sessionToken,
}: DriverCredentialValues): Credentials | undefined {
  if (accessKeyId === undefined && secretAccessKey === undefined) return undefined;
  const environment = {
    [variables.accessKeyId]: accessKeyId?.reveal(),
    [variables.secretAccessKey]: secretAccessKey?.reveal(),
    [variables.sessionToken]: sessionToken?.reveal(),
  };
  return credentialsFrom("the environment", environment, variables);
}
