import { expect, it } from "vitest";
import { redactedObject, redactedText } from "./redact.ts";

it.each([
  ["No such key: GK0123456789abcdef01234567", "No such key: [redacted]"],
  ["id AKIAIOSFODNN7EXAMPLE is unknown", "id [redacted] is unknown"],
  ["HTTPS_PROXY=http://joe:pa55@proxy:3128/", "HTTPS_PROXY=http://[redacted]@proxy:3128/"],
  ["secret_access_key: wJalrXUtnFEMI", "secret_access_key: [redacted]"],
  ['"secretAccessKey":"wJalrXUtnFEMI"', '"secretAccessKey":"[redacted]"'],
  ["AWS_SESSION_TOKEN=abc", "AWS_SESSION_TOKEN=[redacted]"],
  ["GET /?X-Amz-Signature=abc&x=1", "GET /?X-Amz-Signature=[redacted]&x=1"],
  ["Bearer eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.sig", "Bearer [redacted]"],
])("takes the credential out of %s", (text, redacted) => {
  expect(redactedText(text)).toBe(redacted);
});

it("leaves names of Secrets and endpoints alone", () => {
  const text = "Secret shop/keys at https://s3.example.com/bucket";
  expect(redactedText(text)).toBe(text);
});

it("masks variables by their names, and drops what kubectl has remembered", () => {
  const pod = {
    metadata: { annotations: { "kubectl.kubernetes.io/last-applied-configuration": "wJalrXUtnFEMI", keep: "this" } },
    env: [
      { name: "AWS_SECRET_ACCESS_KEY", value: "wJalrXUtnFEMI" },
      { name: "AWS_REGION", value: "us-east-1" },
    ],
  };
  expect(redactedObject(pod)).toEqual({
    metadata: { annotations: { keep: "this" } },
    env: [
      { name: "AWS_SECRET_ACCESS_KEY", value: "[redacted]" },
      { name: "AWS_REGION", value: "us-east-1" },
    ],
  });
});
