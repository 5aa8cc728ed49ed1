import { DriverError } from "../core/errors.ts";
import { Secret } from "../runtime/secret.ts";

/** The credentials that sign requests to the object store. */
export interface Credentials {
  readonly accessKeyId: Secret;
  readonly secretAccessKey: Secret;
  readonly sessionToken: Secret | undefined;
}

/** The names of the three in a Secret, or in the environment. */
export type CredentialFields = Readonly<Record<keyof Credentials, string>>;

/** The names in the Secrets of volumes. The driver's own Secret may use others. */
export const volumeCredentialFields: CredentialFields = {
  accessKeyId: "access_key_id",
  secretAccessKey: "secret_access_key",
  sessionToken: "session_token",
};

/**
 * Throws a DriverError that names the field, and never shows its content. `origin` names the Secret, or the environment, in that
 * message.
 */
export function credentialsFrom(
  origin: string,
  values: Readonly<Record<string, string | undefined>>,
  fields: CredentialFields,
): Credentials {
  const read = (field: string): Secret | undefined => {
    // A Secret that is made from a file often ends with a line feed.
    const value = values[field]?.trim();
    if (!value) return undefined;
    // The value goes to a file that mount-s3 reads line by line. No store hands out a key with control characters.
    if (/\p{Cc}/u.test(value)) throw refusal(origin, field, "contains a control character");
    return new Secret(value);
  };
  const required = (field: string): Secret => {
    const value = read(field);
    if (value === undefined) throw refusal(origin, field, "is missing or empty");
    return value;
  };
  return {
    accessKeyId: required(fields.accessKeyId),
    secretAccessKey: required(fields.secretAccessKey),
    sessionToken: read(fields.sessionToken),
  };
}

function refusal(origin: string, field: string, problem: string): DriverError {
  return new DriverError("invalid", `${field} in ${origin} ${problem}`, { hint: `Correct ${field} in ${origin}.` });
}
