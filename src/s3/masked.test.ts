import { expect, it } from "vitest";
import { Secret } from "../runtime/secret.ts";
import { maskedFor } from "./masked.ts";

const masked = maskedFor({
  accessKeyId: new Secret("labadmin"),
  secretAccessKey: new Secret("labadminsecret"),
  sessionToken: new Secret("token/1"),
});

it.for([
  ["No such key: labadmin", "No such key: [masked]"],
  ["labadminsecret and labadmin, (token/1)", "[masked] and [masked], ([masked])"],
  ["The key AKIAIOSFODNN7EXAMPLE does not exist", "The key [masked] does not exist"],
  ["No such key: GK31c2f218a2e44f485b94239e", "No such key: [masked]"],
  ["bucket csi-s3-1 does not exist", "bucket csi-s3-1 does not exist"],
] as const)("%s → %s", ([text, shown]) => {
  expect(masked(text)).toBe(shown);
});
