/**
 * Stores show access key ids in their error messages (Garage: "No such key: GK…"), and such a message becomes an event, which more
 * people may read than the Secret (SE-4).
 */
import type { Secret } from "../runtime/secret.ts";
import type { Credentials } from "./credentials.ts";

const mask = "[masked]";

/** Ids of AWS and Garage: a message may show another id than that of the request. */
const ids = /\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b|\bGK[0-9a-f]{24}\b/g;

/** For a text about requests whose credentials are not known: masks what looks like an access key id. */
export function maskedIds(text: string): string {
  return text.replaceAll(ids, mask);
}

/** Masks the messages of a store that answers requests with these credentials. */
export function maskedFor({ accessKeyId, secretAccessKey, sessionToken }: Credentials): (text: string) => string {
  // A secret may begin with the id, so the longest value is replaced first.
  const own = [accessKeyId, secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])]
    .map((secret) => secret.reveal())
    .toSorted((a, b) => b.length - a.length);
  return (text) => maskedIds(own.reduce((rest, value) => rest.replaceAll(value, mask), text));
}

/** Shorter parts of a token are no secret, and words of a message might be among them. */
const tokenPart = /[\w-]{16,}/g;

/** Masks the messages of a server to which this token was sent: the token, its parts between the dots, and what is left of a part that was cut. */
export function maskedToken(token: Secret): (text: string) => string {
  const whole = token.reveal();
  const parts = [whole, ...(whole.match(tokenPart) ?? [])];
  return (text) => {
    const rest = parts.reduce((masked, part) => masked.replaceAll(part, mask), text);
    return rest.replaceAll(tokenPart, (part) => (whole.includes(part) ? mask : part));
  };
}
