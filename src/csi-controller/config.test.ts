import { expect, it } from "vitest";
import { storesFrom } from "../core/stores/store-list.ts";
import { csiControllerConfigFrom } from "./config.ts";

const env = { AWS_ENDPOINT_URL: "http://s3", KUBERNETES_SERVICE_HOST: "10.0.0.1" };

it("has the defaults of 2.x", () => {
  expect(csiControllerConfigFrom(["--endpoint=unix:/csi/csi.sock", "--v=4"], env)).toEqual({
    endpoint: "unix:/csi/csi.sock",
    verbosity: 4,
    healthPort: undefined,
    metrics: false,
    metricsAuthorization: false,
    stores: storesFrom({ endpointUrl: "http://s3", region: "us-east-1" }, {}),
    storeLimits: { connectMs: 5_000, answerMs: 10_000, attempts: 4 },
    podIdentity: false,
    tokenDir: "/provisioner-tokens",
    caBundle: undefined,
    systemRoots: undefined,
    proxy: {},
    driverCredentials: { from: "environment", credentials: undefined },
    secretNamespace: undefined,
    fallbackToDriverCredentials: true,
    orphans: { everyMs: 3_600_000, settleMs: 60_000 },
    protectedSecrets: undefined,
    pod: undefined,
    checkStore: false,
    api: { host: "10.0.0.1", port: "443" },
  });
});

it("reads the names of the driver's Secret and of its fields", () => {
  const flags = [
    "--credentials-secret=kube-system/keys",
    "--access-key-id-field=id",
    "--no-driver-credentials-fallback",
  ];
  expect(csiControllerConfigFrom(flags, env)).toMatchObject({
    driverCredentials: { from: "secret", namespace: "kube-system", name: "keys", fields: { accessKeyId: "id" } },
    fallbackToDriverCredentials: false,
  });
});

it("ID-4 reads the list of stores; their Secrets are in the namespace of the driver's", () => {
  const list = { minio: { endpointUrl: "http://minio", credentialSecret: { name: "minio-keys" } } };
  const flags = ["--credentials-secret=storage/keys", "--pod-identity", "--provisioner-token-dir=/tokens"];
  const config = csiControllerConfigFrom(flags, { ...env, AWS_REGION: "eu-west-1", S3_STORES: JSON.stringify(list) });
  expect(config.stores).toEqual(storesFrom({ endpointUrl: "http://s3", region: "eu-west-1" }, list));
  expect(config).toMatchObject({ secretNamespace: "storage", podIdentity: true, tokenDir: "/tokens" });
  expect(csiControllerConfigFrom([], { ...env, POD_NAMESPACE: "release" }).secretNamespace).toBe("release");
});

it("ID-4 names the chart value of a mistake in the list of stores, together with others", () => {
  const list = { minio: { region: "x" } };
  const report = () => csiControllerConfigFrom(["--v=x"], { ...env, S3_STORES: JSON.stringify(list) });
  expect(report).toThrow("--v");
  expect(() => csiControllerConfigFrom([], { ...env, S3_STORES: JSON.stringify(list) })).toThrow(
    "s3.stores.minio.endpointUrl must be set",
  );
});

it("takes credentials from the environment, as under manifests of 2.x, and never prints them", () => {
  const config = csiControllerConfigFrom([], { ...env, AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "hidden" });
  expect(JSON.stringify(config)).not.toContain("hidden");
  expect(config.driverCredentials).toMatchObject({
    from: "environment",
    credentials: { secretAccessKey: expect.anything() },
  });
});

it("reports every mistake at once", () => {
  const mistakes = [
    "AWS_ENDPOINT_URL",
    "--v",
    "--health-port",
    "--credentials-secret must be NAMESPACE/NAME",
    "--protected-secrets must be NAMESPACE/NAME",
    "--kubeconfig",
  ];
  const args = ["--v=x", "--health-port=99999", "--credentials-secret=x", "--protected-secrets=y"];
  const report = () => csiControllerConfigFrom(args, {});
  for (const mistake of mistakes) expect(report).toThrow(mistake);
});
