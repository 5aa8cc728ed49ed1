import { describe, expect, it } from "vitest";
import type { NodeName, PodUid } from "../../src/core/names.ts";
import { reconcilerConfigFrom } from "../../src/reconciler/config.ts";
import { mountpointPod } from "../../src/reconciler/domain/mountpoint-pod/mountpoint-pod.ts";
import { s3VolumeFrom } from "../../src/reconciler/domain/persistent-volume.ts";
import { plainStores, usualIdentity } from "../support/fake-credentials.ts";
import {
  chartDirectory,
  containerOf,
  containersOf,
  type Manifest,
  notes,
  only,
  releaseNamespace,
  render,
} from "./rendered-chart.ts";

const templatesOf = (chart: readonly Manifest[]) =>
  chart.filter(({ kind }) => ["DaemonSet", "Deployment", "Job"].includes(kind)).map(({ spec }) => spec.template);

/** The Pod that the reconciler makes when it is told what the chart tells it. */
function mountpointPodOf(chart: readonly Manifest[]) {
  const { env: passed } = containerOf(chart, "s3-pod-reconciler");
  const given = Object.fromEntries(passed.map(({ name, value }) => [name, value ?? "x"]));
  const env = { ...given, MOUNTPOINT_VERSION: "1.24.0", KUBERNETES_SERVICE_HOST: "h", KUBERNETES_SERVICE_PORT: "1" };
  const csi = { driver: "s3.csi.scality.com", volumeHandle: "h", volumeAttributes: { bucketName: "b" } };
  const volume = s3VolumeFrom(plainStores, { metadata: { name: "pv" }, spec: { csi } });
  if (volume === undefined) throw new Error("not a volume of ours");
  const purpose = { volume, identity: usualIdentity, workload: "uid" as PodUid, node: "n" as NodeName, generation: 0 };
  return mountpointPod(reconcilerConfigFrom([], env, "3").mountpointPods, purpose);
}

it("CH-3 imagePullSecrets reach the controller, the node plugin, the hooks and Mountpoint Pods", () => {
  const chart = render({ "imagePullSecrets[0]": "pull", cleanupCRDOnUninstall: "true" });
  const expected = [{ name: "pull" }];
  const templates = templatesOf(chart);
  expect(templates).toHaveLength(4);
  for (const { spec } of templates) expect(spec.imagePullSecrets).toEqual(expected);
  expect(mountpointPodOf(chart).spec.imagePullSecrets).toEqual(expected);
  expect(mountpointPodOf(render()).spec).not.toHaveProperty("imagePullSecrets");
});

it("CH-8 labels and annotations of the values are on Mountpoint Pods", () => {
  const chart = render({
    "mountpointPod.labels.team": "storage",
    [String.raw`mountpointPod.annotations.example\.com/scan`]: "no",
  });
  const { metadata } = mountpointPodOf(chart);
  expect(metadata.labels).toMatchObject({ team: "storage" });
  expect(metadata.annotations).toMatchObject({ "example.com/scan": "no" });
  expect(mountpointPodOf(render()).metadata.labels).not.toHaveProperty("team");
});

const flowControlIn = (chart: readonly Manifest[]) =>
  chart.filter(({ apiVersion }) => apiVersion.startsWith("flowcontrol"));
const account = (name: string) => ({ kind: "ServiceAccount", serviceAccount: { namespace: releaseNamespace, name } });

it("SC-6 flowControl gives the driver's requests a priority level, and its leases that of leader election", () => {
  expect(flowControlIn(render())).toEqual([]);
  const chart = render({ "flowControl.enabled": "true", "flowControl.shares": "25" });
  expect(flowControlIn(chart)).toHaveLength(3);
  const level = only(chart, "PriorityLevelConfiguration", "s3-csi-driver");
  expect(level).toMatchObject({ spec: { limited: { nominalConcurrencyShares: 25 } } });
  const [controller, node] = [account("s3-csi-driver-controller-sa"), account("s3-csi-driver-sa")];
  expect(only(chart, "FlowSchema", "s3-csi-driver")["spec"]).toMatchObject({
    priorityLevelConfiguration: { name: "s3-csi-driver" },
    rules: [{ subjects: [controller, node] }],
  });
  expect(only(chart, "FlowSchema", "s3-csi-driver-leader-election")["spec"]).toMatchObject({
    priorityLevelConfiguration: { name: "leader-election" },
    rules: [{ subjects: [controller], resourceRules: [{ resources: ["leases"] }] }],
  });
});

describe("OpenShift", () => {
  const found = ["--api-versions", "config.openshift.io/v1"];

  it.for([
    [{}, [], false],
    [{}, found, true],
    [{ "openshift.enabled": "auto" }, found, true],
    [{ "openshift.enabled": "false" }, found, false],
    [{ "openshift.enabled": "true" }, [], true],
  ] as const)("CH-8 %j with %j → %j", ([values, flags, expected]) => {
    const chart = render(values, chartDirectory, flags);
    expect(constraintsIn(chart).map(({ metadata }) => metadata.name)).toEqual(
      expected ? ["scality-s3-csi-node-scc", "scality-s3-csi-mounter-scc"] : [],
    );
    const controller = containerOf(chart, "s3-pod-reconciler");
    expect(JSON.stringify(controller).includes('"runAsUser":1000')).toBe(!expected);
    expect(JSON.stringify(mountpointPodOf(chart)).includes('"runAsUser":1000')).toBe(!expected);
  });

  it("CH-8 the constraints let the node plugin mount, and Mountpoint Pods do nothing to the host", () => {
    const chart = render({ "openshift.enabled": "true" });
    expect(only(chart, "SecurityContextConstraints", "scality-s3-csi-node-scc")).toMatchObject({
      users: [`system:serviceaccount:${releaseNamespace}:s3-csi-driver-sa`],
      allowPrivilegedContainer: true,
      allowHostDirVolumePlugin: true,
      allowHostPID: false,
    });
    expect(only(chart, "SecurityContextConstraints", "scality-s3-csi-mounter-scc")).toMatchObject({
      groups: ["system:serviceaccounts:mount-s3"],
      allowPrivilegedContainer: false,
      allowHostDirVolumePlugin: false,
      requiredDropCapabilities: ["ALL"],
      runAsUser: { type: "MustRunAsRange" },
    });
  });
});

it("OP-7 the log level of every container follows the value of its component", () => {
  const usual = render();
  for (const each of logLevels(usual, "DaemonSet")) expect(each).toEqual(["--v=4"]);
  for (const each of logLevels(usual, "Deployment")) expect(each).toEqual(["--v=2"]);
  const changed = render({ "node.logLevel": "1", "controller.logLevel": "5" });
  for (const each of logLevels(changed, "DaemonSet")) expect(each).toEqual(["--v=1"]);
  for (const each of logLevels(changed, "Deployment")) expect(each).toEqual(["--v=5"]);
});

it("CH-7 the controller has replicas, affinity, resources and keys that need not exist; the provisioner is elected, patient and told of claims", () => {
  const affinity = "controller.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight";
  const chart = render({
    "controller.replicas": "2",
    [affinity]: "1",
    "controller.resources.limits.memory": "1Gi",
    "sidecars.csiProvisioner.resources.limits.memory": "2Gi",
    "s3CredentialSecret.sessionToken": "token",
  });
  const { replicas, template } = only(chart, "Deployment")["spec"];
  expect(replicas).toBe(2);
  expect(template.spec.affinity.nodeAffinity).toBeDefined();
  const requests = { cpu: "10m", memory: "64Mi" };
  for (const name of ["s3-csi-controller", "s3-pod-reconciler"]) {
    expect(containerOf(chart, name).resources).toEqual({ requests, limits: { memory: "1Gi" } });
  }
  const controller = containerOf(chart, "s3-csi-controller");
  expect(controller.args).toContain("--session-token-field=token");
  // Nothing of a Pod's start depends on the Secret: it is read through the API, when it is there.
  expect(JSON.stringify(template)).not.toContain("secretKeyRef");
  const provisioner = containerOf(chart, "csi-provisioner");
  expect(provisioner.resources).toEqual({ limits: { memory: "2Gi" } });
  expect(provisioner.args).toEqual(
    expect.arrayContaining(["--leader-election", "--timeout=120s", "--extra-create-metadata"]),
  );
});

it("every container says what it needs", () => {
  for (const one of containersOf(render({ cleanupCRDOnUninstall: "true" }))) {
    expect(one.resources).toMatchObject({ requests: { cpu: expect.any(String), memory: expect.any(String) } });
  }
});

it.for([
  [{}, 0],
  [{ "controller.replicas": "2" }, 1],
  [{ "controller.replicas": "2", "controller.podDisruptionBudget.enabled": "false" }, 0],
] as const)("%j → %d disruption budgets", ([values, count]) => {
  const chart = render(values);
  const budgets = chart.filter(({ kind }) => kind === "PodDisruptionBudget");
  expect(budgets).toHaveLength(count);
  const { selector } = only(chart, "Deployment")["spec"];
  for (const { spec } of budgets) expect(spec).toEqual({ maxUnavailable: 1, selector });
});

it("SE-5 a policy for Mountpoint Pods lets nobody in, and out only where the values say", () => {
  const closed = only(render({ "networkPolicy.enabled": "true" }), "NetworkPolicy", "s3-csi-mountpoint-pods");
  expect(closed.metadata.namespace).toBe("mount-s3");
  expect(closed["spec"]).toMatchObject({ policyTypes: ["Ingress"] });
  const [{ key }] = closed["spec"].podSelector.matchExpressions;
  expect(mountpointPodOf(render()).metadata.labels).toHaveProperty([key]);
  const rule = { "networkPolicy.egress[0].to[0].ipBlock.cidr": "10.0.0.0/8" };
  const limited = only(render({ "networkPolicy.enabled": "true", ...rule }), "NetworkPolicy", "s3-csi-mountpoint-pods");
  expect(limited["spec"]).toMatchObject({
    policyTypes: ["Ingress", "Egress"],
    egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }],
  });
});

/** The default of 2.x, too. */
const superType = { user: "system_u", type: "super_t", role: "system_r", level: "s0" };
const bottlerocket = Object.fromEntries(
  Object.entries(superType).map(([key, value]) => [`node.seLinuxOptions.${key}`, value]),
);

it.for([
  ["plain Kubernetes, and nodes with RHEL", {}, undefined],
  ["OpenShift", { "openshift.enabled": "true" }, { type: "spc_t" }],
  ["OpenShift with the values of 2.x", { "openshift.enabled": "true", ...bottlerocket }, { type: "spc_t" }],
  ["nodes with Bottlerocket", bottlerocket, superType],
  ["values with nothing but empty entries", { "node.seLinuxOptions.type": "" }, undefined],
] as const)("PF-4 SELinux context of the node plugin on %s", ([, values, expected]) => {
  const [plugin] = only(render(values), "DaemonSet")["spec"].template.spec.containers;
  expect(plugin.securityContext.seLinuxOptions).toEqual(expected);
  expect(notes(values).includes("type is super_t")).toBe(expected === superType);
});

it("PF-4 no context is named that the default policy of RHEL, Fedora and OpenShift does not know", () => {
  const known = new Set(["spc_t", "container_t", "container_init_t"]);
  for (const values of [{}, { "openshift.enabled": "true" }, { cleanupCRDOnUninstall: "true" }]) {
    const types = [...JSON.stringify(render(values)).matchAll(/"seLinuxOptions":\{[^}]*"type":"([^"]*)"/g)];
    for (const [, type = ""] of types) expect(known).toContain(type);
  }
});

it("CH-4 namespace, priority classes and CSIDriver can be somebody else's", () => {
  const without = {
    "mountpointPod.createNamespace": "false",
    "mountpointPod.createPriorityClasses": "false",
    "csiDriver.create": "false",
  };
  const kinds = new Set(render(without).map(({ kind }) => kind));
  for (const kind of ["Namespace", "PriorityClass", "CSIDriver"]) {
    expect(kinds).not.toContain(kind);
    expect(new Set(render().map((one) => one.kind))).toContain(kind);
  }
});

it("CH-4 with release-scoped names no object of the whole cluster has the name it has otherwise", () => {
  const shared = {
    "mountpointPod.namespace": "mounts",
    "mountpointPod.createPriorityClasses": "false",
    "csiDriver.create": "false",
    "openshift.enabled": "true",
  };
  const scoped = clusterWideNames(render({ ...shared, releaseScopedNames: "true" }));
  const usual = clusterWideNames(render({ "openshift.enabled": "true" }));
  expect(scoped.length).toBeGreaterThan(5);
  expect(scoped.filter((name) => usual.includes(name))).toEqual([]);
});

function constraintsIn(chart: readonly Manifest[]): readonly Manifest[] {
  return chart.filter(({ kind }) => kind === "SecurityContextConstraints");
}

/** Of each container. */
function logLevels(chart: readonly Manifest[], kind: string): readonly (readonly string[])[] {
  const { containers } = only(chart, kind)["spec"].template.spec as { containers: { args: string[] }[] };
  return containers.map(({ args }) => args.filter((arg) => arg.startsWith("--v=")));
}

function clusterWideNames(chart: readonly Manifest[]): readonly string[] {
  return chart
    .filter(({ kind, metadata }) => metadata.namespace === undefined && kind !== "CustomResourceDefinition")
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}
