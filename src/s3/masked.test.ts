import { expect, it } from "vitest";
import { Secret } from "../runtime/secret.ts";
import { maskedFor, maskedToken } from "./masked.ts";

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

const token = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YTpiIn0.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg";

it.for([
  [`the token ${token} has expired`, "the token [masked] has expired"],
  [`token-${token}-`, "token-[masked]-"],
  ["signature c2lnbmF0dXJlLW9mLXRoZS10b2tlbg is wrong", "signature [masked] is wrong"],
  [`cut: ${token.slice(0, -4)}`, "cut: [masked].[masked].[masked]"],
  ["system:serviceaccount:a:b may not do this", "system:serviceaccount:a:b may not do this"],
] as const)("ID-2 a token is in no message of STS: %s → %s", ([text, shown]) => {
  expect(maskedToken(new Secret(token))(text)).toBe(shown);
});
