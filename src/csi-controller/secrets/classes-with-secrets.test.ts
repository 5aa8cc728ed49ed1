import { expect, it } from "vitest";
import { listingClient } from "../../../test/support/listing-client.ts";
import { driverName } from "../../core/names.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { PersistentVolumeClaim } from "../../kube/kinds.ts";
import { silentLogger } from "../../runtime/log.ts";
import { type ClaimOfClass, ClassesWithSecrets, resolvedSecret } from "./classes-with-secrets.ts";

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

const secret = (use: string) => ({
  [`csi.storage.k8s.io/${use}-name`]: "s3",
  [`csi.storage.k8s.io/${use}-namespace`]: "storage",
});
const storageClass = (name: string, parameters: object, more: object = {}) => ({
  metadata: { name, resourceVersion: "1" },
  provisioner: driverName,
  parameters,
  ...more,
});
const classes = [
  storageClass("both", { ...secret("provisioner-secret"), ...secret("node-publish-secret") }),
  storageClass("for-all-uses", secret("secret")),
  storageClass("for-mounts", secret("node-publish-secret")),
  storageClass("kept", secret("provisioner-secret"), { reclaimPolicy: "Retain" }),
  storageClass("without", {}),
  storageClass("of-another-driver", secret("provisioner-secret"), { provisioner: "ebs.csi.aws.com" }),
];

/** What the cache says of a claim, and how often the API server was asked for it. */
async function classOf(found: PersistentVolumeClaim | undefined, listed: readonly object[] = classes) {
  const stop = new AbortController();
  const call = { signal: stop.signal, log: silentLogger };
  const cache = new ClassesWithSecrets();
  let asked = 0;
  const get = async () => {
    asked += 1;
    return found;
  };
  // Asked before the cache is synced: the answer waits for it.
  const client = { get } as unknown as Pick<KubeClient, "get">;
  const answer = cache.ofClaim(call, client, { namespace: "team-a", name: "data" });
  const running = cache.run(call, listingClient({ StorageClass: listed }), () => undefined);
  const result: ClaimOfClass | undefined = await answer;
  const ofNone = await cache.ofClaim(call, client, undefined);
  stop.abort();
  await running;
  return { storageClass: result?.storageClass, ofNone, asked };
}

const claimOf = (storageClassName: string | undefined, annotations = {}) =>
  ({ metadata: { ...metadata, annotations }, spec: { storageClassName } }) as unknown as PersistentVolumeClaim;

it.for([
  ["both", { provisionerSecret: "storage/s3", deletesVolumes: true }],
  ["for-all-uses", { provisionerSecret: "storage/s3", deletesVolumes: true }],
  ["for-mounts", { provisionerSecret: undefined, deletesVolumes: true }],
  ["kept", { provisionerSecret: "storage/s3", deletesVolumes: false }],
] as const)("the StorageClass %s of a claim names Secrets", async ([name, found]) => {
  expect(await classOf(claimOf(name))).toEqual({ storageClass: { name, ...found }, ofNone: undefined, asked: 1 });
});

it.for(["without", "of-another-driver", "missing", undefined])(
  "the StorageClass %s of a claim is of no interest",
  async (name) => {
    expect((await classOf(claimOf(name))).storageClass).toBeUndefined();
  },
);

it("PR-10 the StorageClass of a claim is that of the beta annotation, which wins in Kubernetes", async () => {
  const annotated = claimOf("without", { "volume.beta.kubernetes.io/storage-class": "both" });
  expect((await classOf(annotated)).storageClass).toMatchObject({ name: "both" });
});

it("the StorageClass of a claim that is gone is unknown", async () => {
  expect((await classOf(undefined)).storageClass).toBeUndefined();
});

it("a claim is not looked up where no StorageClass names a Secret", async () => {
  const { storageClass: found, asked } = await classOf(claimOf("without"), [storageClass("without", {})]);
  expect([found, asked]).toEqual([undefined, 0]);
});
