import { describe, expect, it } from "vitest";
import { attachmentApi, reconcilerLease } from "../../src/core/names.ts";
import { chartDirectory, hookOf, only, releaseNamespace, render } from "./rendered-chart.ts";

describe("rights", () => {
  const chart = render();
  const rules = (kind: string, name: string) => only(chart, kind, name)["rules"];
  const attachments = { apiGroups: [attachmentApi.group], resources: [attachmentApi.plural] };
  const pods = { apiGroups: [""], resources: ["pods"] };

  it("let the node read attachments, Mountpoint Pods with their logs and one Secret, and write nothing but their status, nodes and events", () => {
    const verbs = ["list", "watch"];
    expect(rules("ClusterRole", "s3-csi-driver-cluster-role")).toEqual([
      { ...attachments, verbs },
      { ...attachments, resources: [`${attachmentApi.plural}/status`], verbs: ["patch"] },
      { apiGroups: [""], resources: ["nodes"], verbs: [...verbs, "patch"] },
      { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
    ]);
    expect(rules("Role", "s3-csi-driver-node-mountpoint-pod-namespace-role")).toEqual([
      { ...pods, verbs },
      { ...pods, resources: ["pods/log"], verbs: ["get"] },
    ]);
    expect(rules("Role", "s3-csi-driver-node-credentials-role")).toEqual([
      { apiGroups: [""], resources: ["secrets"], resourceNames: ["s3-secret"], verbs },
    ]);
  });

  it("let the controller write Pods in the namespace of Mountpoint Pods only", () => {
    expect(rules("ClusterRole", "s3-csi-driver-controller-cluster-role")).toEqual([
      { ...pods, resources: ["pods", "persistentvolumes", "persistentvolumeclaims"], verbs: ["list", "watch"] },
      { ...attachments, verbs: ["list", "watch", "create", "patch", "delete"] },
      { ...attachments, resources: [`${attachmentApi.plural}/status`], verbs: ["patch"] },
      { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
      { apiGroups: [""], resources: ["persistentvolumes"], verbs: ["create", "patch", "delete"] },
      { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: ["list", "watch"] },
      { apiGroups: [""], resources: ["nodes"], verbs: ["get"] },
      { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["update"] },
      { apiGroups: [""], resources: ["namespaces"], resourceNames: ["kube-system"], verbs: ["get"] },
      { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: ["get"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["get"] },
      { apiGroups: [""], resources: ["secrets"], verbs: ["patch"] },
    ]);
    expect(rules("Role", "s3-csi-driver-controller-mountpoint-pod-namespace-role")).toEqual([
      { ...pods, verbs: ["create", "patch", "delete"] },
    ]);
  });

  it("let the controller hold the leases of its elections and the record of protected Secrets, and no other", () => {
    const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"] };
    expect(rules("Role", "s3-csi-driver-controller-election-role")).toEqual([
      { ...leases, verbs: ["create"] },
      { ...leases, resourceNames: [reconcilerLease], verbs: ["get", "patch"] },
      { ...leases, resourceNames: ["s3-csi-scality-com"], verbs: ["get", "update"] },
      {
        apiGroups: [""],
        resources: ["configmaps"],
        resourceNames: ["s3-csi-protected-secrets"],
        verbs: ["get", "patch"],
      },
    ]);
  });

  it("PR-11 to patch Secrets are not granted where they are not protected, and the policy that limits them is always there", () => {
    const without = render({ "controller.protectSecrets": "false" });
    const name = "s3-csi-driver-controller-cluster-role";
    const patches = (manifests: typeof chart) =>
      (only(manifests, "ClusterRole", name)["rules"] as { resources: string[]; verbs: string[] }[]).filter(
        ({ resources, verbs }) => resources.includes("secrets") && verbs.includes("patch"),
      );
    expect(patches(chart)).toHaveLength(1);
    expect(patches(without)).toEqual([]);
    for (const manifests of [chart, without])
      only(manifests, "ValidatingAdmissionPolicyBinding", "s3-csi-secret-finalizer");
    expect(only(without, "ConfigMap", "s3-csi-protected-secrets")["data"]).toEqual({ protection: "off" });
    expect(hookOf(only(chart, "Job", "s3-csi-release-secrets"))).toBe("pre-delete");
    // Without a cluster there is no record of Secrets that would have to be released.
    expect(without.filter(({ metadata }) => metadata.name === "s3-csi-release-secrets")).toEqual([]);
  });

  it("are bound to the account of the same component, where the role is", () => {
    const bindings = chart.filter((one) => one.kind.endsWith("RoleBinding") && hookOf(one) === undefined);
    expect(bindings).toHaveLength(6);
    for (const binding of bindings) {
      const { kind, name } = binding["roleRef"];
      expect(only(chart, kind, name).metadata.namespace).toBe(binding.metadata.namespace);
      const account = name.includes("controller") ? "s3-csi-driver-controller-sa" : "s3-csi-driver-sa";
      expect(binding["subjects"]).toEqual([{ kind: "ServiceAccount", name: account, namespace: releaseNamespace }]);
      expect(only(chart, "ServiceAccount", account).metadata.namespace).toBe(releaseNamespace);
    }
  });

  it("CH-1, CH-6 of Jobs are their own: they run, whoever makes the controller's account", () => {
    const values = { "controller.serviceAccount.create": "false", cleanupCRDOnUninstall: "true" };
    const others = render(values, chartDirectory, ["--is-upgrade"]);
    const jobs = others.filter(({ kind }) => kind === "Job");
    expect(jobs.map(({ metadata }) => metadata.name).toSorted()).toEqual([
      "s3-csi-install-kind",
      "s3-csi-release-secrets",
      "s3-csi-remove-mounts",
    ]);
    for (const { spec } of jobs) {
      const { serviceAccountName } = spec.template.spec;
      expect(only(others, "ServiceAccount", serviceAccountName).metadata.namespace).toBe(releaseNamespace);
      const { roleRef } = only(others, "ClusterRoleBinding", serviceAccountName);
      expect(only(others, "ClusterRole", roleRef.name)["rules"]).not.toEqual([]);
    }
  });

  it.for(["node", "controller"] as const)("of the %s are left out when its account is not the chart's", (without) => {
    const others = render({
      [`${without}.serviceAccount.create`]: "false",
      [`${without}.serviceAccount.name`]: "mine",
    });
    const ofOther = without === "node" ? /controller/ : /^(?!.*controller)/;
    const access = others.filter((one) => /Role|ServiceAccount/.test(one.kind) && hookOf(one) === undefined);
    expect(access.length).toBeGreaterThan(0);
    for (const { metadata } of access) expect(metadata.name).toMatch(ofOther);
    const owner = only(others, without === "node" ? "DaemonSet" : "Deployment");
    expect(owner["spec"].template.spec.serviceAccountName).toBe("mine");
  });
});
