/** Where the driver's own keys are, as flags and environment tell it. */
import type { Problems } from "../runtime/problems.ts";
import { type KeyFields, type Keys, keysFrom, volumeKeyFields } from "./keys.ts";

/** Our chart names a Secret; manifests of 2.x put its content into our environment. */
export type DriverKeysConfig =
  | { readonly from: "secret"; readonly namespace: string; readonly name: string; readonly fields: KeyFields }
  | { readonly from: "environment"; readonly keys: Keys | undefined };

/** For `parseArgs`. */
export const driverKeyFlags = {
  "credentials-secret": { type: "string", default: "" },
  "access-key-id-field": { type: "string", default: volumeKeyFields.accessKeyId },
  "secret-access-key-field": { type: "string", default: volumeKeyFields.secretAccessKey },
  "session-token-field": { type: "string", default: volumeKeyFields.sessionToken },
  "no-driver-credentials-fallback": { type: "boolean", default: false },
} as const;

type Flags = Readonly<Record<Exclude<keyof typeof driverKeyFlags, "no-driver-credentials-fallback">, string>>;
type Environment = Readonly<Record<string, string | undefined>>;

export function driverKeysFrom(flags: Flags, env: Environment, problems: Problems): DriverKeysConfig {
  const reference = flags["credentials-secret"];
  if (reference === "") return { from: "environment", keys: problems.unless(() => environmentKeys(env)) };
  const [, namespace = "", name = ""] = /^([^/]+)\/([^/]+)$/.exec(reference) ?? [];
  if (name === "") problems.add(`--credentials-secret is not NAMESPACE/NAME: ${reference}`);
  const fields = {
    accessKeyId: flags["access-key-id-field"],
    secretAccessKey: flags["secret-access-key-field"],
    sessionToken: flags["session-token-field"],
  };
  return { from: "secret", namespace, name, fields };
}

const variables: KeyFields = {
  accessKeyId: "AWS_ACCESS_KEY_ID",
  secretAccessKey: "AWS_SECRET_ACCESS_KEY",
  sessionToken: "AWS_SESSION_TOKEN",
};

/** Without any key the driver still serves volumes and classes that bring their own (PR-7). */
function environmentKeys(env: Environment): Keys | undefined {
  if (!env[variables.accessKeyId] && !env[variables.secretAccessKey]) return undefined;
  return keysFrom("the environment", env, variables);
}
