/** Stores that the chart refuses before anything is installed, and what the message shows. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { only, render, template } from "./rendered-chart.ts";

/** Renders with the stores of `s3`, and returns what Helm writes to stderr. The error itself names all values. */
function refusalOf(s3: object): string {
  const directory = mkdtempSync(join(tmpdir(), "values-"));
  try {
    const file = join(directory, "values.json");
    writeFileSync(file, JSON.stringify({ s3 }));
    template(["--values", file]);
    return "";
  } catch (error) {
    return String((error as { readonly stderr?: string }).stderr);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const minio = { endpointUrl: "https://minio.example.com" };

it.for([
  ["s3/stores/minio/endpointUrl", { stores: { minio: { endpointUrl: "https://me:hunter2@minio.example.com" } } }],
  ["s3/stores/minio/endpointUrl", { stores: { minio: { endpointUrl: "https://hunter2@minio.example.com" } } }],
  [
    "s3/stores/minio/formerEndpointUrls/0",
    { stores: { minio: { ...minio, formerEndpointUrls: ["https://:hunter2@a"] } } },
  ],
  [
    "s3/stores/minio/sts/endpointUrl",
    { stores: { minio: { ...minio, sts: { endpointUrl: "https://me:hunter2@sts" } } } },
  ],
  ["s3/formerEndpointUrls/0", { formerEndpointUrls: ["https://me:hunter2@a"] }],
  ["s3/sts/endpointUrl", { sts: { endpointUrl: "https://me:hunter2@sts" } }],
] as const)("ID-4 a user name or password in %s is refused, and not shown", ([value, s3]) => {
  const text = refusalOf(s3);
  expect(text).toContain(value);
  expect(text).not.toContain("hunter2");
});

it("ID-4 an @ in the path of an address is no user name", () => {
  expect(refusalOf({ stores: { minio: { endpointUrl: "https://minio.example.com/a@b" } } })).toBe("");
});

/** As long as a list of this many certificates. */
const bundle = (certificates: number) =>
  `-----BEGIN CERTIFICATE-----\n${"A".repeat(1000)}\n-----END CERTIFICATE-----\n`.repeat(certificates);

it.for([
  ["s3.stores.minio.caCertData", { stores: { minio: { ...minio, caCertData: bundle(100) } } }],
  ["s3.stores.minio.sts.caCertData", { stores: { minio: { ...minio, sts: { ...minio, caCertData: bundle(100) } } } }],
  ["s3.sts.caCertData", { sts: { ...minio, caCertData: bundle(100) } }],
  [
    "s3.stores.a.caCertData, s3.stores.b.caCertData",
    { stores: { a: { ...minio, caCertData: bundle(50) }, b: { ...minio, caCertData: bundle(50) } } },
  ],
] as const)("ID-4 certificates that no program could get are refused: %s", ([values, s3]) => {
  expect(refusalOf(s3)).toContain(`(${values})`);
});

it("ID-4 certificates of some authorities are no problem", () => {
  expect(refusalOf({ stores: { minio: { ...minio, caCertData: bundle(50) } } })).toBe("");
});

it.for(["s3-csi-volumes", "s3-csi-storage-classes"])(
  "ID-4 policy %s takes present addresses before former ones, and refuses one of several stores",
  (name) => {
    const values = { "s3.stores.a.endpointUrl": "http://now", "s3.stores.a.formerEndpointUrls[0]": "http://before" };
    const { variables, validations } = only(render(values), "ValidatingAdmissionPolicy", name)["spec"] as PolicySpec;
    const expressions = new Map(variables.map((each) => [each.name, each.expression]));
    expect(expressions.get("stores")).toContain("http://before");
    expect(expressions.get("presentStores")).toContain("http://now");
    expect(expressions.get("presentStores")).not.toContain("http://before");
    expect(expressions.get("storesAtAddress")).toMatch(/^variables\.presentStores\.exists\(/);
    expect(JSON.stringify(validations)).toContain("is the address of several stores: name one of them as store");
  },
);

interface PolicySpec {
  readonly variables: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly object[];
}
