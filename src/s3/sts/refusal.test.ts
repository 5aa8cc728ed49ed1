import { expect, it } from "vitest";
import type { StoreName } from "../../core/stores/store.ts";
import { type StsRefusal, stsError } from "./refusal.ts";

const asked = {
  store: "minio" as StoreName,
  sts: {
    endpointUrl: "https://sts",
    caCertificates: undefined,
    audience: "sts.amazonaws.com",
    roleArn: undefined,
    sessionSeconds: 3600,
    provisioner: undefined,
  },
  subject: "system:serviceaccount:a:app",
  issuer: "https://kubernetes.default.svc",
  role: "arn:aws:iam::1:role/app",
};

function errorFor(refusal: Partial<StsRefusal>) {
  return stsError(asked, { httpStatus: 400, code: "AccessDenied", message: "", clockAheadMs: 0, ...refusal });
}

it.for([
  [
    "audience",
    { code: "InvalidIdentityToken", message: "Incorrect token audience" },
    "unauthenticated",
    "s3.stores.minio.sts.audience",
  ],
  [
    "audience (MinIO)",
    {
      code: "InvalidParameterValue",
      message: "STS JWT Token has `aud` claim invalid, `aud` must match configured OpenID Client ID",
    },
    "unauthenticated",
    "sts.amazonaws.com",
  ],
  [
    "issuer",
    { code: "InvalidIdentityToken", message: "No OpenIDConnect provider found in your account for https://x" },
    "unauthenticated",
    "https://kubernetes.default.svc",
  ],
  [
    "keys of the issuer",
    { code: "InvalidIdentityToken", message: "Couldn't retrieve verification key from your identity provider" },
    "unauthenticated",
    ".well-known",
  ],
  [
    "role",
    { code: "AccessDenied", httpStatus: 403, message: "Not authorized to perform sts:AssumeRoleWithWebIdentity" },
    "denied",
    "arn:aws:iam::1:role/app",
  ],
  [
    "policy (MinIO)",
    {
      code: "InvalidParameterValue",
      message:
        "None of the given policies (`system:serviceaccount:a:app`) are defined, credentials will not be generated",
    },
    "denied",
    "a policy with the name system:serviceaccount:a:app",
  ],
  [
    "duration",
    { code: "InvalidParameterValue", message: "invalid token expiry duration" },
    "invalid",
    "s3.stores.minio.sts.durationSeconds",
  ],
  ["clock", { code: "ExpiredTokenException", message: "Token expired" }, "unauthenticated", "NTP"],
  ["clock that differs", { clockAheadMs: -3_600_000 }, "unauthenticated", "differs by 3600 s"],
  ["not ready", { code: "STSIAMNotInitialized", httpStatus: 503 }, "notReady", "repeated"],
  ["not STS", { code: undefined, httpStatus: 404 }, "notReady", "s3.stores.minio.sts.endpointUrl"],
  ["a gateway", { code: undefined, httpStatus: 502 }, "notReady", "repeated"],
] as const)("ID-3 %s: the refusal names the party and the fix", ([, refusal, kind, fix]) => {
  const error = errorFor(refusal);
  expect(error.kind).toBe(kind);
  expect(error.hint).toContain(fix);
  expect(error.message).toContain("STS of store minio (https://sts)");
  expect(error.message).toContain("system:serviceaccount:a:app");
});

it("ID-3 without a role the fix says where one can be named", () => {
  const refusal = { httpStatus: 403, code: "AccessDenied", message: "", clockAheadMs: 0 };
  expect(stsError({ ...asked, role: undefined }, refusal).hint).toContain("s3.csi.scality.com/role-arn");
});
