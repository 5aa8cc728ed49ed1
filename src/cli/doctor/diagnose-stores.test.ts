/** ID-4. What `kubectl s3 doctor` finds about stores that are listed, and volumes that name others. */
import { expect, it } from "vitest";
import { driverName } from "../../core/names.ts";
import { metadata, volume } from "../../topology/cluster.fixture.ts";
import type { Cluster } from "../../topology/cluster.ts";
import { diagnose } from "./diagnose.ts";
import { installation } from "./installation.fixture.ts";
import type { Installation } from "./installation.ts";

const sts = { endpointUrl: "https://sts.example.com", audience: "s3" };
const minio = { endpointUrl: "https://minio.example.com", credentialSecret: { name: "minio-keys" } };

function controllerWith(list: object, args: readonly string[] = []): Partial<Installation> {
  const env = [
    { name: "AWS_ENDPOINT_URL", value: "https://ring.example.com" },
    { name: "S3_STORES", value: JSON.stringify(list) },
  ];
  const containers = [
    { name: "s3-csi-controller", env },
    { name: "s3-pod-reconciler", args },
  ];
  const usual = installation().deployment as Exclude<Installation["deployment"], string>;
  return { deployment: { ...usual, spec: { replicas: 1, template: { spec: { containers } } } } };
}

function foundIn(but: Partial<Installation>, of: Partial<Cluster> = {}) {
  const secrets = new Map([
    [
      "kube-system/minio-keys",
      {
        state: "found",
        keys: new Set(["access_key_id", "secret_access_key"]),
        emptyKeys: new Set<string>(),
      },
    ] as const,
  ]);
  return diagnose(installation({ secrets, ...but }, of));
}

const storedAt = (attributes: Readonly<Record<string, string>>): Partial<Cluster> => ({
  volumes: [
    volume({ csi: { driver: driverName, volumeHandle: "h", volumeAttributes: { bucketName: "b", ...attributes } } }),
  ],
});

it("ID-4 nothing is wrong with volumes and classes at stores that are listed", () => {
  const classes = [{ metadata: metadata("class"), provisioner: driverName, parameters: { store: "minio" } }];
  expect(foundIn({ ...controllerWith({ minio }), classes }, storedAt({ store: "minio" }))).toEqual([]);
  expect(foundIn(controllerWith({ minio }), storedAt({ endpointUrl: "https://minio.example.com/" }))).toEqual([]);
});

it.for([
  ["a store", { store: "ring" }, /store .*ring/],
  ["an address", { endpointUrl: "https://elsewhere.example.com" }, /endpointUrl .*elsewhere/],
] as const)("ID-4 a volume and a class with %s that is not listed are named, with the list", ([, fields, evidence]) => {
  const classes = [{ metadata: metadata("class"), provisioner: driverName, parameters: fields }];
  const problem = {
    evidence: expect.stringMatching(evidence) as string,
    fix: expect.stringMatching(/default, minio.*s3\.stores/) as string,
  };
  expect(foundIn({ ...controllerWith({ minio }), classes }, storedAt(fields))).toMatchObject([
    { id: "class-parameter", ...problem },
    { id: "volume-refused", ...problem },
  ]);
});

it("ID-4 the Secret of a store must exist", () => {
  const secrets = new Map([["kube-system/minio-keys", { state: "missing" } as const]]);
  expect(foundIn({ ...controllerWith({ minio }), secrets })).toMatchObject([
    { id: "secret-missing", severity: "problem", summary: expect.stringContaining("store minio") as string },
  ]);
});

it("ID-4 a store that does not answer is named with its chart value, and one that was not tried is no finding", () => {
  const tried: Installation["tried"] = {
    state: "tried",
    stores: [
      { name: "default", endpointUrl: "https://ring.example.com", result: "ok" },
      { name: "minio", endpointUrl: minio.endpointUrl, result: "failed", problem: "ECONNREFUSED" },
      { name: "bare", endpointUrl: "https://bare.example.com", result: "not tried", problem: "no credentials" },
    ],
  };
  expect(foundIn({ ...controllerWith({ minio }), tried })).toMatchObject([
    {
      id: "store-unusable",
      summary: expect.stringContaining("https://minio.example.com of store minio") as string,
      evidence: "ECONNREFUSED",
      fix: expect.stringContaining("s3.stores.minio") as string,
    },
  ]);
});

it("ID-4 certificates of a store and of its STS are read", () => {
  const list = { minio: { ...minio, caCertData: "nothing", sts: { ...sts, caCertData: "nothing" } } };
  expect(foundIn(controllerWith(list)).map(({ id, summary }) => [id, summary])).toEqual([
    ["ca-invalid", "There is no certificate in the chart value s3.stores.minio.caCertData"],
    ["ca-invalid", "There is no certificate in the chart value s3.stores.minio.sts.caCertData"],
  ]);
});

it.for([
  ["kubelet does not request them", ["--pod-identity=true"], ["other"], ["csidriver-tokens"]],
  ["kubelet requests them", ["--pod-identity=true"], ["s3"], []],
  ["they are not used", [], [], []],
] as const)("ID-1 service account tokens: %s", ([, args, audiences, expected]) => {
  const controller = controllerWith({ minio: { ...minio, sts } }, args);
  expect(foundIn({ ...controller, csiDriver: csiDriverWith(audiences) }).map(({ id }) => id)).toEqual(expected);
});

function csiDriverWith(audiences: readonly string[]): Installation["csiDriver"] {
  const usual = installation().csiDriver as Exclude<Installation["csiDriver"], string>;
  return { ...usual, spec: { ...usual.spec, tokenRequests: audiences.map((audience) => ({ audience })) } };
}
