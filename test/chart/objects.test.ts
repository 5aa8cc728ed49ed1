import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { attachmentApi, defaultMountpointNamespace, driverName } from "../../src/core/names.ts";
import { pluginDir } from "../../src/node/domain/target-path.ts";
import {
  chartDirectory,
  containerOf,
  containersOf,
  type Manifest,
  only,
  ownContainersOf,
  releaseNamespace,
  render,
  version,
} from "./rendered-chart.ts";

it("has the version of the package", () => {
  const chart = parse(readFileSync(join(chartDirectory, "Chart.yaml"), "utf8")) as Record<string, string>;
  expect(chart).toMatchObject({ version, appVersion: version, kubeVersion: ">=1.30.0-0" });
});

const policies = [
  "s3-csi-mountpoint-namespace",
  "s3-csi-node-own-attachments",
  "s3-csi-node-own-taint",
  "s3-csi-secret-finalizer",
  "s3-csi-storage-classes",
  "s3-csi-storage-classes-questionable",
  "s3-csi-volumes",
  "s3-csi-volumes-questionable",
];

describe("the chart as it comes", () => {
  const chart = render();

  it("makes these objects and no others: upgrades and documents rely on the names", () => {
    expect(chart.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual(
      [
        `CSIDriver ${driverName}`,
        `CustomResourceDefinition ${attachmentApi.plural}.${attachmentApi.group}`,
        "ClusterRole s3-csi-driver-cluster-role",
        "ClusterRole s3-csi-driver-controller-cluster-role",
        "ClusterRoleBinding mountpoint-s3-csi-node-binding",
        "ClusterRoleBinding s3-csi-driver-controller-cluster-role-binding",
        "ConfigMap s3-csi-protected-secrets",
        "DaemonSet s3-csi-node",
        "Deployment s3-csi-controller",
        `Namespace ${defaultMountpointNamespace}`,
        "PriorityClass mount-s3-critical",
        "PriorityClass mount-s3-headroom",
        "PriorityClass mount-s3-preempting",
        "Role s3-csi-driver-controller-election-role",
        "Role s3-csi-driver-controller-mountpoint-pod-namespace-role",
        "Role s3-csi-driver-node-credentials-role",
        "Role s3-csi-driver-node-mountpoint-pod-namespace-role",
        "RoleBinding s3-csi-driver-controller-election-role-binding",
        "RoleBinding s3-csi-driver-controller-mountpoint-pod-namespace-role-binding",
        "RoleBinding s3-csi-driver-node-credentials-role-binding",
        "RoleBinding s3-csi-driver-node-mountpoint-pod-namespace-role-binding",
        "ServiceAccount s3-csi-driver-controller-sa",
        "ServiceAccount s3-csi-driver-sa",
        // Of the hook that runs before an uninstallation.
        ...["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Job"].map(
          (kind) => `${kind} s3-csi-release-secrets`,
        ),
        ...policies.flatMap((name) => [
          `ValidatingAdmissionPolicy ${name}`,
          `ValidatingAdmissionPolicyBinding ${name}`,
        ]),
      ].toSorted(),
    );
  });

  it("declares the driver with exactly what an upgrade from 2.x can keep", () => {
    const spec = { attachRequired: false, podInfoOnMount: true, requiresRepublish: true };
    expect(only(chart, "CSIDriver")["spec"]).toEqual(spec);
  });

  it.for([
    ["mount-s3-critical", 1_000_000_000, "Never"],
    ["mount-s3-preempting", 999_999_999, "PreemptLowerPriority"],
    ["mount-s3-headroom", -10, "Never"],
  ] as const)("gives %s the value %d, preemption %s", ([name, value, preemptionPolicy]) => {
    expect(only(chart, "PriorityClass", name)).toMatchObject({ value, preemptionPolicy, globalDefault: false });
  });

  it("guards the namespace of Mountpoint Pods with the restricted profile", () => {
    expect(only(chart, "Namespace").metadata.labels).toMatchObject({
      name: "mount-s3",
      "pod-security.kubernetes.io/enforce": "restricted",
      "pod-security.kubernetes.io/audit": "restricted",
      "pod-security.kubernetes.io/warn": "restricted",
    });
  });

  it.for([
    ["DaemonSet", "s3-csi-node"],
    ["Deployment", "s3-csi-controller"],
  ] as const)("selects the Pods of the %s by the immutable labels of 2.x", ([kind, name]) => {
    const { spec } = only(chart, kind, name) as Manifest & { spec: Manifest["spec"] };
    expect(spec.selector.matchLabels).toEqual({
      app: name,
      "app.kubernetes.io/name": "scality-mountpoint-s3-csi-driver",
      "app.kubernetes.io/instance": "release",
    });
    expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
  });

  it("puts the common labels on every object but the custom resource definition", () => {
    for (const { metadata } of chart.filter(({ kind }) => kind !== "CustomResourceDefinition")) {
      expect(metadata.labels).toMatchObject({
        "app.kubernetes.io/name": "scality-mountpoint-s3-csi-driver",
        "app.kubernetes.io/instance": "release",
        "app.kubernetes.io/component": "csi-driver",
        "app.kubernetes.io/managed-by": "Helm",
        "helm.sh/chart": expect.stringContaining("scality-mountpoint-s3-csi-driver-"),
        "app.kubernetes.io/version": expect.any(String),
      });
    }
  });

  it("replaces the controller before it starts a new one", () => {
    const { spec } = only(chart, "Deployment");
    expect(spec.strategy).toEqual({ type: "Recreate", rollingUpdate: null });
    expect(spec.template.metadata.annotations).toEqual({
      "kubectl.kubernetes.io/default-container": "s3-pod-reconciler",
    });
    expect(spec.template.spec.priorityClassName).toBe("system-cluster-critical");
  });

  it("runs one container per node, which registers itself and answers its own probes", () => {
    const daemonSet = only(chart, "DaemonSet");
    expect(daemonSet["spec"].template.spec.priorityClassName).toBe("system-node-critical");
    expect(daemonSet["spec"].template.spec.containers).toHaveLength(1);
    const [plugin] = daemonSet["spec"].template.spec.containers;
    expect(plugin.name).toBe("s3-plugin");
    expect(plugin.args).toEqual([
      "--endpoint=$(CSI_ENDPOINT)",
      "--v=4",
      "--register",
      "--health-port=9808",
      "--host-proc=/host/proc",
      "--hang-limit-seconds=600",
      "--mount-pid-namespace=private",
      `--credentials-secret=${releaseNamespace}/s3-secret`,
      "--access-key-id-field=access_key_id",
      "--secret-access-key-field=secret_access_key",
      "--session-token-field=session_token",
    ]);
    expect(plugin.ports).toEqual([{ name: "healthz", containerPort: 9808 }]);
    expect(plugin.securityContext.privileged).toBe(true);
  });

  it("tells the node plugin all it has to know", () => {
    const { env } = containerOf(chart, "s3-plugin");
    const nodeName = { fieldRef: { fieldPath: "spec.nodeName" } };
    expect(Object.fromEntries(env.map((one) => [one.name, one.valueFrom ?? one.value]))).toEqual({
      CSI_ENDPOINT: "unix:/csi/csi.sock",
      CSI_NODE_NAME: nodeName,
      NODE_NAME: nodeName,
      KUBELET_PATH: "/var/lib/kubelet",
      HOST_PLUGIN_DIR: pluginDir("/var/lib/kubelet"),
      MOUNTPOINT_NAMESPACE: "mount-s3",
      AWS_ENDPOINT_URL: "http://s3.example.com:8000",
      AWS_REGION: "us-east-1",
    });
  });

  it("puts no key into any environment", () => {
    for (const one of containersOf(chart)) {
      expect(one.envFrom).toBeUndefined();
      for (const { valueFrom } of one.env) expect(valueFrom ?? {}).not.toHaveProperty("secretKeyRef");
    }
  });

  it("OP-2 probes every container, on a port of its own", () => {
    for (const { args, ports, livenessProbe, readinessProbe } of ownContainersOf(chart)) {
      const [{ name, containerPort }] = ports;
      expect(livenessProbe).toMatchObject({ httpGet: { path: "/livez", port: name } });
      expect(readinessProbe).toMatchObject({ httpGet: { path: "/healthz", port: name } });
      expect(args).toContain(`--health-port=${containerPort}`);
    }
    const provisioner = containerOf(chart, "csi-provisioner");
    const [{ name, containerPort }] = provisioner.ports;
    const inElection = { httpGet: { path: "/healthz/leader-election", port: name } };
    expect(provisioner.livenessProbe).toMatchObject(inElection);
    expect(provisioner.readinessProbe).toMatchObject(inElection);
    expect(provisioner.args).toContain(`--http-endpoint=:${containerPort}`);
    const ports = containersOf(chart).map((one) => one.ports[0].containerPort);
    expect(new Set(ports).size).toBe(ports.length);
  });

  it("provisions through the real sidecar: elected, patient enough, and told whose claim it is", () => {
    const { containers, volumes } = only(chart, "Deployment")["spec"].template.spec;
    expect(containers.map((one: { name: string }) => one.name)).toEqual([
      "s3-csi-controller",
      "s3-pod-reconciler",
      "csi-provisioner",
    ]);
    expect(volumes).toEqual([{ name: "socket-dir", emptyDir: {} }]);
    for (const name of ["s3-csi-controller", "csi-provisioner"]) {
      expect(containerOf(chart, name)).toMatchObject({ volumeMounts: [{ name: "socket-dir", mountPath: "/csi" }] });
    }
    expect(containerOf(chart, "csi-provisioner").args).toEqual(
      expect.arrayContaining(["--leader-election", "--extra-create-metadata", "--timeout=120s"]),
    );
    const { args, env } = containerOf(chart, "s3-csi-controller");
    expect(env).toContainEqual({ name: "CSI_CONTROLLER_ONLY", value: "true" });
    expect(args).toContain(`--credentials-secret=${releaseNamespace}/s3-secret`);
    expect(args).not.toContain("--no-driver-credentials-fallback");
  });

  it("tells each controller who it is in the election, and that none works without the lease", () => {
    expect(containerOf(chart, "s3-pod-reconciler").args).toContain("--require-lease");
    expect(only(chart, "Deployment")["spec"].replicas).toBe(1);
    expect(containerOf(chart, "s3-pod-reconciler").env.filter(({ valueFrom }) => valueFrom !== undefined)).toEqual([
      { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      { name: "POD_NAMESPACE", valueFrom: { fieldRef: { fieldPath: "metadata.namespace" } } },
      { name: "POD_UID", valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } },
    ]);
  });

  it("gives Mountpoint Pods the image of the driver itself", () => {
    const image = `ghcr.io/scality/mountpoint-s3-csi-driver:v${version}`;
    expect(containerOf(chart, "s3-pod-reconciler").env.filter(({ value }) => value !== undefined)).toEqual([
      { name: "AWS_ENDPOINT_URL", value: "http://s3.example.com:8000" },
      { name: "AWS_REGION", value: "us-east-1" },
      { name: "MOUNTPOINT_NAMESPACE", value: "mount-s3" },
      { name: "MOUNTPOINT_IMAGE", value: image },
      { name: "MOUNTPOINT_IMAGE_PULL_POLICY", value: "IfNotPresent" },
      { name: "MOUNTPOINT_PRIORITY_CLASS_NAME", value: "mount-s3-critical" },
      { name: "MOUNTPOINT_RESOURCES", value: '{"requests":{"cpu":"10m","memory":"32Mi"}}' },
      { name: "MOUNTPOINT_TOLERATIONS", value: '[{"operator":"Exists"}]' },
    ]);
    for (const one of ownContainersOf(chart)) expect(one.image).toBe(image);
  });
});
