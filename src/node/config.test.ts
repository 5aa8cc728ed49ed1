import { expect, it } from "vitest";
import { storesFrom } from "../core/stores/store-list.ts";
import { nodeConfigFrom } from "./config.ts";

const env = { AWS_ENDPOINT_URL: "http://s3:8000", CSI_NODE_NAME: "node-1", KUBERNETES_SERVICE_HOST: "10.96.0.1" };
const credentials = { AWS_ACCESS_KEY_ID: "id", AWS_SECRET_ACCESS_KEY: "hunter2" };

it("has the defaults of 2.x", () => {
  expect(nodeConfigFrom([], env)).toEqual({
    endpoint: "unix:///tmp/csi.sock",
    fallbackToDriverCredentials: true,
    nodeId: "node-1",
    nodeName: "node-1",
    verbosity: 2,
    mountpointVersion: "",
    movesWithGap: false,
    mountpointNamespace: "mount-s3",
    kubeletDir: "/var/lib/kubelet",
    hostPluginDir: "/var/lib/kubelet/plugins/s3.csi.scality.com",
    stores: storesFrom({ endpointUrl: "http://s3:8000", region: "us-east-1" }, {}),
    podIdentity: false,
    caBundle: undefined,
    sessionLimitMs: 1_000_000_000,
    proxy: {},
    pidNamespaces: { usual: "private", inHostPids: false },
    hostProc: "/proc",
    hangLimitMs: 600_000,
    driverCredentials: { from: "environment", credentials: undefined },
    registryDir: undefined,
    healthPort: undefined,
    metrics: false,
    metricsAuthorization: false,
    volumeMetrics: false,
    api: { host: "10.96.0.1", port: "443" },
  });
});

it("understands what manifests of 2.x pass", () => {
  const given = {
    ...env,
    ...credentials,
    NODE_NAME: "node-1.example",
    AWS_REGION: "eu-west-1",
    MOUNTPOINT_NAMESPACE: "mp",
  };
  const config = nodeConfigFrom(["--endpoint=unix:/csi/csi.sock", "--v=4"], given);
  expect(config).toMatchObject({
    endpoint: "unix:/csi/csi.sock",
    verbosity: 4,
    nodeId: "node-1",
    nodeName: "node-1.example",
    mountpointNamespace: "mp",
  });
  expect(
    config.driverCredentials.from === "environment" && config.driverCredentials.credentials?.secretAccessKey.reveal(),
  ).toBe("hunter2");
  expect(JSON.stringify(config)).not.toContain("hunter2");
});

it("understands what our chart passes", () => {
  const args = [
    "--register",
    "--health-port=9808",
    "--metrics",
    "--volume-metrics",
    "--credentials-secret=storage/s3-secret",
    "--access-key-id-field=id",
    "--secret-access-key-field=secret",
    "--session-token-field=token",
    "--host-pid",
    "--mount-pid-namespace=host",
  ];
  expect(nodeConfigFrom(args, { ...env, KUBELET_PATH: "/var/lib/k0s/kubelet/" })).toMatchObject({
    kubeletDir: "/var/lib/k0s/kubelet",
    registryDir: "/registration",
    healthPort: 9808,
    metrics: true,
    metricsAuthorization: false,
    volumeMetrics: true,
    pidNamespaces: { usual: "host", inHostPids: true },
    driverCredentials: {
      from: "secret",
      namespace: "storage",
      name: "s3-secret",
      fields: { accessKeyId: "id", secretAccessKey: "secret", sessionToken: "token" },
    },
  });
});

it("starts with the text of 2.x when the endpoint is missing", () => {
  const { AWS_ENDPOINT_URL: _, ...rest } = env;
  expect(() => nodeConfigFrom([], rest)).toThrow(/^AWS_ENDPOINT_URL environment variable must be set/);
});

it("reports every mistake at once", () => {
  const args = ["--v=much", "--health-port=70000", "--credentials-secret=s3-secret"];
  const problems = ["AWS_ENDPOINT_URL", "CSI_NODE_NAME", "--v", "NAMESPACE/NAME", "--health-port", "--kubeconfig"];
  expect(() => nodeConfigFrom(args, {})).toThrow(new RegExp(problems.join(".*")));
});

it.for([
  { more: { AWS_ACCESS_KEY_ID: "id" }, args: [], problem: "AWS_SECRET_ACCESS_KEY in the environment is missing" },
  { more: {}, args: ["--endpiont=x"], problem: "unknown flag --endpiont: did you mean --endpoint?" },
  {
    more: {},
    args: ["--mount-pid-namespace=host"],
    problem: "--mount-pid-namespace=host needs --host-pid, and hostPID of the Pod",
  },
  { more: {}, args: ["--endpoint="], problem: '--endpoint must be unix:/path or tcp://host:port, but is ""' },
])("refuses with $problem", ({ more, args, problem }) => {
  expect(() => nodeConfigFrom(args, { ...env, ...more })).toThrow(problem);
});

it("takes the proxy to the object store, and ignores the proxy variables of other programs", () => {
  const given = { MOUNTPOINT_HTTPS_PROXY: "http://proxy:3128", MOUNTPOINT_NO_PROXY: "", HTTP_PROXY: "http://other" };
  expect(nodeConfigFrom([], { ...env, ...given }).proxy).toEqual({ HTTPS_PROXY: "http://proxy:3128" });
});
