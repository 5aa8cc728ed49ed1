/**
 * Stores name access key ids in their error texts (Garage: "No such key: GK…"), and such a text becomes an event, which more
 * people may read than the Secret (SE-4).
 */
import type { Credentials } from "./credentials.ts";

const mask = "[masked]";

/** Ids as AWS and Garage hand them out: a text may name another one than that of the call. */
const ids = /\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b|\bGK[0-9a-f]{24}\b/g;

/** For texts of the store that come in answer to requests with these credentials. */
export function maskedFor({ accessKeyId, secretAccessKey, sessionToken }: Credentials): (text: string) => string {
  // A secret may begin with the id: the longer ones go first.
  const own = [accessKeyId, secretAccessKey, ...(sessionToken === undefined ? [] : [sessionToken])]
    .map((secret) => secret.reveal())
    .toSorted((a, b) => b.length - a.length);
  return (text) => own.reduce((rest, value) => rest.replaceAll(value, mask), text).replaceAll(ids, mask);
}
