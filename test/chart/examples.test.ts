import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseClassParameters } from "../../src/csi-controller/domain/storage-class.ts";
import { type PersistentVolume, s3VolumeFrom } from "../../src/reconciler/domain/persistent-volume.ts";
import { type WorkloadPod, workloadFrom } from "../../src/reconciler/domain/workload.ts";
import { plainStores } from "../support/fake-credentials.ts";
import { type Manifest, manifestsIn, only, repository } from "./rendered-chart.ts";

it("examples/static is a volume of ours, a claim for it and a Pod that uses the claim", () => {
  const manifests = manifestsIn(readFileSync(join(repository, "examples/static/static.yaml"), "utf8"));
  const pv = only(manifests, "PersistentVolume");
  const claim = only(manifests, "PersistentVolumeClaim");
  const volume = s3VolumeFrom(plainStores, pv as unknown as PersistentVolume);
  expect(volume?.attributes.bucket).toBe("my-bucket");
  expect(claim["spec"]).toMatchObject({ volumeName: pv.metadata.name, storageClassName: "" });
  expect(pv["spec"].claimRef).toEqual({ name: claim.metadata.name, namespace: claim.metadata.namespace });
  const workload = workloadFrom(only(manifests, "Pod") as unknown as WorkloadPod);
  expect(workload.claims).toEqual([claim.metadata.name]);
  expect(workload.namespace).toBe(claim.metadata.namespace);
});

describe("examples/tenants", () => {
  const classes = fileOf("classes");
  const tenant = fileOf("tenant");
  const variants = ["with-account", "with-secret"] as const;
  const claimed = (variant: (typeof variants)[number]) => only(fileOf(variant), "PersistentVolumeClaim")["spec"];

  it("ID-1 every object of a tenant is in its namespace, so one name is all there is to replace", () => {
    const { name } = only(tenant, "Namespace").metadata;
    const namespaced = [...tenant, ...variants.flatMap(fileOf)].filter(({ kind }) => kind !== "Namespace");
    expect(namespaced.length).toBeGreaterThan(8);
    for (const { metadata } of namespaced) expect(metadata.namespace).toBe(name);
  });

  it.for(classes.map((each) => [each.metadata.name, each] as const))(
    "ID-1 the controller takes StorageClass %s, and what belongs to a tenant follows its namespace",
    ([, { parameters }]) => {
      const ofClaim = { "csi.storage.k8s.io/pvc/name": "data", "csi.storage.k8s.io/pvc/namespace": "blue" };
      expect(() => parseClassParameters({ ...parameters, ...ofClaim }, "pvc-1")).not.toThrow();
      const perTenant = Object.entries<string>(parameters).filter(([key]) => /[Pp]refix$|secret-namespace$/.test(key));
      expect(perTenant.length).toBeGreaterThan(0);
      for (const [, value] of perTenant) expect(value).toBe("${pvc.namespace}");
    },
  );

  it("ID-1 the quota counts the claims of every class, and knows no other class", () => {
    const limited = Object.keys(only(tenant, "ResourceQuota")["spec"].hard).map((key) => key.split(".", 1).join());
    expect(limited.toSorted()).toEqual(classes.map(({ metadata }) => metadata.name).toSorted());
    for (const variant of variants) expect(limited).toContain(claimed(variant).storageClassName);
  });

  it.for(variants)("ID-1 %s: the Pods use the claim, and a token of the account only through the driver", (variant) => {
    const manifests = fileOf(variant);
    const { spec } = only(manifests, "Deployment")["spec"].template;
    const metadata = { namespace: "team-a", name: "app", uid: "uid" };
    const workload = workloadFrom({ metadata, spec: { ...spec, nodeName: "n" } });
    expect(workload.claims).toEqual([only(manifests, "PersistentVolumeClaim").metadata.name]);
    expect(spec.automountServiceAccountToken).toBe(false);
  });

  it("ID-1 the tenant with an account has no Secret, and the class uses the account; the one with a Secret has what its class names", () => {
    const withAccount = fileOf("with-account");
    expect(withAccount.filter(({ kind }) => kind === "Secret")).toEqual([]);
    const account = only(withAccount, "ServiceAccount").metadata;
    expect(only(withAccount, "Deployment")["spec"].template.spec.serviceAccountName).toBe(account.name);
    expect(account.annotations?.["s3.csi.scality.com/role-arn"]).toMatch(/^arn:aws:iam::\d+:role\//);
    expect(classNamed(classes, claimed("with-account").storageClassName)["parameters"].authenticationSource).toBe(
      "pod",
    );
    const secret = only(fileOf("with-secret"), "Secret");
    const { parameters } = classNamed(classes, claimed("with-secret").storageClassName);
    for (const use of ["provisioner", "node-publish"]) {
      expect(parameters[`csi.storage.k8s.io/${use}-secret-name`]).toBe(secret.metadata.name);
    }
    expect(Object.keys(secret["stringData"])).toEqual(["access_key_id", "secret_access_key"]);
  });

  it("ID-1 Pods of a tenant reach nothing but each other and DNS: the store is for Mountpoint Pods", () => {
    const { policyTypes, podSelector, egress } = only(tenant, "NetworkPolicy")["spec"];
    expect(policyTypes).toEqual(["Ingress", "Egress"]);
    expect(podSelector).toEqual({});
    expect(egress.map(({ ports }: { ports?: readonly { port: number }[] }) => ports?.map(({ port }) => port))).toEqual([
      undefined,
      [53, 53],
    ]);
  });
});

function classNamed(classes: readonly Manifest[], name: string): Manifest {
  return only(classes, "StorageClass", name);
}

function fileOf(name: string): readonly Manifest[] {
  return manifestsIn(readFileSync(join(repository, "examples/tenants", `${name}.yaml`), "utf8"));
}
