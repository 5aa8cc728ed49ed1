/** What the chart tells the reconciler and the node plugin about Mountpoint Pods, read by the programs themselves. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { headroom } from "../../src/core/names.ts";
import { nodeConfigFrom } from "../../src/node/config.ts";
import { reconcilerConfigFrom } from "../../src/reconciler/config.ts";
import { manualRollout } from "../../src/reconciler/rollout/rollout.fixture.ts";
import { chartDirectory, containerOf, type Manifest, only, releaseNamespace, render } from "./rendered-chart.ts";

const image = { MOUNTPOINT_VERSION: "1.24.0", KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443" };

function environmentOf(chart: readonly Manifest[], container: string): Readonly<Record<string, string>> {
  const { env } = containerOf(chart, container);
  return { ...image, ...Object.fromEntries(env.map(({ name, value }) => [name, value ?? "node-1"])) };
}

const settings = (chart: readonly Manifest[]) =>
  reconcilerConfigFrom([], environmentOf(chart, "s3-pod-reconciler"), "3").mountpointPods;

const rollout = (chart: readonly Manifest[]) =>
  reconcilerConfigFrom([], environmentOf(chart, "s3-pod-reconciler"), "3").rollout;

it("as it comes: small requests, every taint, no CA", () => {
  expect(settings(render())).toMatchObject({
    resources: { requests: { cpu: "10m", memory: "32Mi" }, limits: {} },
    tolerations: [{ operator: "Exists" }],
    imagePullSecrets: [],
    ca: undefined,
    userBy: "driver",
  });
  expect(nodeConfigFrom([], environmentOf(render(), "s3-plugin")).proxy).toEqual({});
});

it("values reach the Mountpoint Pods", () => {
  const chart = render({
    "mountpointPod.resources.requests.cpu": "1",
    "mountpointPod.resources.limits.memory": "2Gi",
    "mountpointPod.tolerations[0].key": "gpu",
    "imagePullSecrets[0]": "one",
    "imagePullSecrets[1]": "two",
  });
  expect(settings(chart)).toMatchObject({
    resources: { requests: { cpu: "1", memory: "32Mi" }, limits: { memory: "2Gi" } },
    tolerations: [{ key: "gpu" }],
    imagePullSecrets: ["one", "two"],
  });
});

it("LC-21 a rollout reaches the reconciler, and is off as it comes", () => {
  expect(rollout(render())).toEqual(manualRollout);
  expect(rollout(render({ "mountpointPod.rollout.strategy": "rolling" }))).toEqual({
    ...manualRollout,
    strategy: "rolling",
  });
  const all = {
    ...{ strategy: "rolling", paused: true, retry: 2, maxPerNode: 2, maxParallel: 3, maxFailures: 4 },
    window: { start: "22:00", end: "04:30", days: ["Sun", "Sat"] },
  };
  const given = ["--set-json", `mountpointPod.rollout=${JSON.stringify(all)}`];
  expect(rollout(render({}, chartDirectory, given))).toEqual({
    ...{ strategy: "rolling", isPaused: true, retry: "2", maxPerNode: 2, maxParallel: 3, maxFailures: 4 },
    allowsGap: false,
    window: { start: 1320, end: 270, days: [0, 6] },
  });
});

it.for([
  ["2", "2"],
  ["0", "0"],
  ["20261118", "20261118"],
  ['"again"', "again"],
  ['""', ""],
  ["null", ""],
])("LC-21 a rollout tries again for retry: %s, as Helm reads it from a file", ([given = "", retry]) => {
  const directory = mkdtempSync(join(tmpdir(), "values-"));
  const file = join(directory, "values.yaml");
  const text = `{mountpointPod: {rollout: {strategy: rolling, retry: ${given}, maxFailures: 1000000}}}`;
  try {
    writeFileSync(file, text);
    expect(rollout(render({}, chartDirectory, ["--values", file]))).toMatchObject({ retry, maxFailures: 1_000_000 });
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it("an empty list of tolerations is taken at its word", () => {
  expect(settings(render({}, chartDirectory, ["--set-json", "mountpointPod.tolerations=[]"])).tolerations).toEqual([]);
});

it("a proxy reaches the node plugin, which passes it on to mount-s3", () => {
  const chart = render({
    "mountpointPod.proxy.httpsProxy": "http://proxy:3128",
    "mountpointPod.proxy.noProxy": String.raw`10.0.0.0/8\,.svc`,
  });
  const { proxy } = nodeConfigFrom([], environmentOf(chart, "s3-plugin"));
  expect(proxy).toEqual({ HTTPS_PROXY: "http://proxy:3128", NO_PROXY: "10.0.0.0/8,.svc" });
});

const headroomOn = { "mountpointPod.headroom.enabled": "true" };
const headroomOf = (chart: readonly Manifest[]) =>
  reconcilerConfigFrom([], environmentOf(chart, "s3-pod-reconciler"), "3").headroom;

it("headroom is off as it comes, and brings neither rights nor a policy", () => {
  expect(headroomOf(render()).enabled).toBe(false);
  expect(settings(render()).preemptingPriorityClassName).toBe("mount-s3-critical");
  expect(render().filter(({ metadata }) => metadata.name === "s3-csi-driver-headroom")).toEqual([]);
});

it("headroom that is turned on reaches the reconciler, with the driver's image or another", () => {
  const chart = render(headroomOn);
  expect(headroomOf(chart)).toMatchObject({ enabled: true, priorityClassName: "mount-s3-headroom" });
  expect(headroomOf(chart).image).toBe(settings(chart).image);
  expect(settings(chart).preemptingPriorityClassName).toBe("mount-s3-preempting");
  const pause = { "mountpointPod.headroomImage.repository": "mirror/pause", "mountpointPod.headroomImage.tag": "3.10" };
  expect(headroomOf(render({ ...headroomOn, ...pause }))).toMatchObject({ image: "mirror/pause:3.10", command: [] });
});

it("the right to patch workloads comes with the policy that limits it, for the same account", () => {
  const chart = render({
    ...headroomOn,
    "controller.serviceAccount.name": "mine",
    "mountpointPod.namespace": "mounts",
  });
  const { rules } = only(chart, "ClusterRole", "s3-csi-driver-controller-cluster-role");
  expect(rules).toContainEqual({ apiGroups: [""], resources: ["pods"], verbs: ["patch"] });
  const policy = only(chart, "ValidatingAdmissionPolicy", "s3-csi-driver-headroom");
  const binding = only(chart, "ValidatingAdmissionPolicyBinding", "s3-csi-driver-headroom");
  expect(binding["spec"]).toEqual({ policyName: policy.metadata.name, validationActions: ["Deny"] });
  const conditions = policy["spec"].matchConditions.map(({ expression }: { expression: string }) => expression);
  expect(conditions).toEqual([
    `request.userInfo.username == "system:serviceaccount:${releaseNamespace}:mine"`,
    'request.namespace != "mounts"',
  ]);
  const text = JSON.stringify(policy);
  expect(text).toContain(headroom.gate);
  expect(text).toContain(headroom.workloadLabel);
});

it("OpenShift chooses user and groups itself", () => {
  const chart = render({}, chartDirectory, ["--api-versions", "config.openshift.io/v1"]);
  expect(settings(chart).userBy).toBe("platform");
});

it("a CA is installed with the driver's own image, or with the one of the values", () => {
  const named = { "tls.caCertConfigMap": "our-ca" };
  const { ca, image: own } = settings(render(named));
  expect(ca).toEqual({
    configMap: "our-ca",
    checksum: "",
    image: own,
    imagePullPolicy: "IfNotPresent",
    resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "64Mi" } },
  });
  const other = {
    "tls.initImage.repository": "alpine",
    "tls.initImage.tag": "3.21",
    "tls.initImage.pullPolicy": "Always",
  };
  expect(settings(render({ ...named, ...other })).ca).toMatchObject({
    image: "alpine:3.21",
    imagePullPolicy: "Always",
  });
  const checksum = (certificates: string) =>
    settings(render({ ...named, "tls.caCertData": certificates })).ca?.checksum;
  expect(checksum("one")).toMatch(/^[0-9a-f]{16}$/);
  expect(checksum("other")).not.toBe(checksum("one"));
});

const configMaps = (values: Readonly<Record<string, string>>) =>
  render({ "tls.caCertConfigMap": "our-ca", ...values }).filter(
    ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "our-ca",
  );

it("certificates in the values become a ConfigMap in both namespaces", () => {
  expect(configMaps({})).toEqual([]);
  const made = configMaps({ "tls.caCertData": "first line\nsecond line" });
  expect(made.map(({ metadata, data }) => [metadata.name, metadata.namespace, data])).toEqual(
    [releaseNamespace, "mount-s3"].map((namespace) => [
      "our-ca",
      namespace,
      { "ca-bundle.crt": "first line\nsecond line\n" },
    ]),
  );
  expect(configMaps({ "tls.caCertData": "x", "mountpointPod.namespace": releaseNamespace })).toHaveLength(1);
});

it("certificates without a name for their ConfigMap are refused", () => {
  expect(() => render({ "tls.caCertData": "x" })).toThrow("tls.caCertConfigMap");
});
