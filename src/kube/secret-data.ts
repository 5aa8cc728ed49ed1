import type { SecretObject } from "./kinds.ts";

/** The fields of a Secret as text. The API server sends them in base64; bytes that are not UTF-8 become U+FFFD. */
export function secretData({ data = {} }: Pick<SecretObject, "data">): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(data).map(([field, value]) => [field, Buffer.from(value, "base64").toString()]),
  );
}
