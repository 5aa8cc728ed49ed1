import { expect, it } from "vitest";
import type { PersistentVolumeClaim } from "../../kube/kinds.ts";
import { resolvedSecret } from "./classes-with-secrets.ts";

const metadata = { namespace: "team-a", name: "data", annotations: { "example.com/secret": "its-own" } };
const claim = { metadata, spec: {} } as unknown as PersistentVolumeClaim;

it.for([
  ["kube-system/s3", "kube-system/s3"],
  ["${pvc.namespace}/${pvc.name}-keys", "team-a/data-keys"],
  ["${pv.name}/${pv.name}", "pvc-1/pvc-1"],
  ["${pvc.namespace}/${pvc.annotations['example.com/secret']}", "team-a/its-own"],
] as const)("%s → %s", ([template, secret]) => {
  expect(resolvedSecret(template, claim, "pvc-1")).toBe(secret);
});

it.for(["${pvc.name}/s3", "kube-system/${pvc.uid}", "kube-system/${pvc.annotations['missing']}"] as const)(
  "%s names no Secret: csi-provisioner refuses the template",
  (template) => {
    expect(resolvedSecret(template, claim, "pvc-1")).toBeUndefined();
  },
);
