import { DriverError } from "../core/errors.ts";
import { Secret } from "../runtime/secret.ts";

/** What signs requests to the object store. */
export interface Keys {
  readonly accessKeyId: Secret;
  readonly secretAccessKey: Secret;
  readonly sessionToken: Secret | undefined;
}

/** Under which names a Secret, or the environment, holds the three. */
export type KeyFields = Readonly<Record<keyof Keys, string>>;

/** The names in the Secrets that volumes bring along; the driver's own Secret may use others. */
export const volumeKeyFields: KeyFields = {
  accessKeyId: "access_key_id",
  secretAccessKey: "secret_access_key",
  sessionToken: "session_token",
};

/** Refuses with the name of the field and never with its content. `origin` names the Secret or the environment. */
export function keysFrom(
  origin: string,
  values: Readonly<Record<string, string | undefined>>,
  fields: KeyFields,
): Keys {
  const read = (field: string): Secret | undefined => {
    // Whoever makes a Secret from a file gets the line feed at its end, too.
    const value = values[field]?.trim();
    if (!value) return undefined;
    // It ends up in a file that mount-s3 reads line by line; no store hands out such a key.
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
