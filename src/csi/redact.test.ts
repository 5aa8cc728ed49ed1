import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { redacted } from "./redact.ts";

it("hides secrets and the tokens of service accounts, and nothing else", () => {
  const request = {
    volumeId: "v",
    secrets: { access_key_id: "AKIA" },
    volumeContext: { bucketName: "b", "csi.storage.k8s.io/serviceAccount.tokens": '{"aws":{"token":"t"}}' },
    volumeCapability: undefined,
  };
  expect(redacted(request)).toEqual({
    volumeId: "v",
    secrets: "[redacted]",
    volumeContext: { bucketName: "b", "csi.storage.k8s.io/serviceAccount.tokens": "[redacted]" },
    volumeCapability: undefined,
  });
});

it("knows every field that the specification marks as secret", async () => {
  const specification = await readFile(new URL("../../proto/csi.proto", import.meta.url), "utf8");
  const marked = [...specification.matchAll(/(\w+) = \d+\s*\[[^\]]*\(csi_secret\) = true/g)].map(([, name]) => name);
  expect(marked.length).toBeGreaterThan(15);
  expect(new Set(marked)).toEqual(new Set(["secrets"]));
});
