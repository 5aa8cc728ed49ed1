/** What ui.enabled brings into the cluster, and that its program takes what the chart passes. */
import { describe, expect, it } from "vitest";
import { attachmentApi } from "../../src/core/names.ts";
import { uiConfigFrom } from "../../src/ui-server/config.ts";
import { viewing } from "../../src/ui-server/viewing-rights.ts";
import { chartDirectory, containerOf, type Manifest, notes, only, releaseNamespace, render } from "./rendered-chart.ts";

const on = { "ui.enabled": "true" };
const byResource = (a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1);
const environment = { KUBERNETES_SERVICE_HOST: "10.96.0.1" };
const named = (chart: readonly Manifest[]) => chart.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
const configOf = (chart: readonly Manifest[]) => uiConfigFrom(containerOf(chart, "s3-csi-ui").args, environment);

it("nothing of the page exists unless it is turned on", () => {
  expect(named(render()).filter((name) => name.includes("-ui"))).toEqual([]);
  expect(named(render({ "networkPolicy.enabled": "true" })).filter((name) => name.includes("-ui"))).toEqual([]);
  expect(notes()).not.toContain("s3-csi-ui");
});

describe("the page in the cluster", () => {
  const chart = render(on);

  it("is these objects", () => {
    const before = new Set(named(render()));
    expect(
      named(chart)
        .filter((name) => !before.has(name))
        .toSorted(),
    ).toEqual([
      "ClusterRole s3-csi-ui-cluster-role",
      "ClusterRole s3-csi-ui-viewer",
      "ClusterRoleBinding s3-csi-ui-cluster-role-binding",
      "Deployment s3-csi-ui",
      "Service s3-csi-ui",
      "ServiceAccount s3-csi-driver-ui-sa",
    ]);
  });

  it("may read what it shows and ask about tokens, and write nothing", () => {
    const core = { apiGroups: [""], resources: ["persistentvolumes", "pods", "events"] };
    const attachments = { apiGroups: [attachmentApi.group], resources: [attachmentApi.plural] };
    expect(only(chart, "ClusterRole", "s3-csi-ui-cluster-role")["rules"]).toEqual([
      { ...core, verbs: ["list", "watch"] },
      { ...attachments, verbs: ["list", "watch"] },
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ]);
  });

  it("is for whom the ClusterRole for viewers is bound to: it has the rights that are asked for, and no others", () => {
    const rules = only(chart, "ClusterRole", "s3-csi-ui-viewer")["rules"] as readonly Rule[];
    const granted = rules.flatMap(({ apiGroups: [group = ""], resources, verbs: [verb] }) =>
      resources.map((resource) => ({ verb, group, resource })),
    );
    expect(granted.toSorted(byResource)).toEqual(viewing.rights.toSorted(byResource));
    expect(rules.every(({ verbs }) => verbs.length === 1)).toBe(true);
  });

  it("runs as the restricted profile demands, with a limit of memory", () => {
    const { spec } = only(chart, "Deployment", "s3-csi-ui")["spec"].template;
    expect(spec.serviceAccountName).toBe("s3-csi-driver-ui-sa");
    expect(spec.containers[0].securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: 1000,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(spec.containers[0].resources.limits).toEqual({ memory: "512Mi" });
    expect(spec).not.toHaveProperty("volumes");
  });

  it("has probes on a port of their own, and the Service leads to the page only", () => {
    const { livenessProbe, readinessProbe, ports } = containerOf(chart, "s3-csi-ui");
    expect(livenessProbe).toMatchObject({ httpGet: { path: "/livez", port: "ui-healthz" } });
    expect(readinessProbe).toMatchObject({ httpGet: { path: "/healthz", port: "ui-healthz" } });
    expect(configOf(chart).healthPort).toBe(ports[0].containerPort);
    expect(only(chart, "Service", "s3-csi-ui")["spec"].ports).toEqual([{ name: "http", port: 80, targetPort: "page" }]);
  });

  it("knows the names of its Service, and those of the values", () => {
    const config = configOf(render({ ...on, "ui.hosts[0]": "s3.example.com", "ui.clusterName": "two words" }));
    const service = `s3-csi-ui.${releaseNamespace}`;
    expect(config.address.hosts).toEqual(["s3-csi-ui", service, `${service}.svc`, "s3.example.com"]);
    expect(config.clusterName).toBe("two words");
    expect(config.address).toMatchObject({ port: 8080, tls: undefined, mostViewers: 50 });
  });

  it("speaks TLS with the certificate of a Secret", () => {
    const secured = render({ ...on, "ui.tls.secretName": "page-tls" });
    const { spec } = only(secured, "Deployment", "s3-csi-ui")["spec"].template;
    expect(spec.volumes).toEqual([{ name: "certificate", secret: { secretName: "page-tls" } }]);
    expect(configOf(secured).address).toMatchObject({ port: 8443, tls: spec.containers[0].volumeMounts[0].mountPath });
    expect(only(secured, "Service", "s3-csi-ui")["spec"].ports[0]).toMatchObject({ name: "https", port: 443 });
    expect(notes({ ...on, "ui.tls.secretName": "page-tls" })).toContain("https://localhost:8080");
  });

  it("is closed by networkPolicy.enabled, except for networkPolicy.uiFrom", () => {
    const closed = { ...on, "networkPolicy.enabled": "true" };
    expect(named(render(closed))).not.toContain("NetworkPolicy s3-csi-ui");
    const { matchLabels } = only(render(closed), "NetworkPolicy", "s3-csi-driver")["spec"].podSelector;
    expect(only(chart, "Deployment", "s3-csi-ui")["spec"].template.metadata.labels).toMatchObject(matchLabels);
    const open = render({ ...closed, "networkPolicy.uiFrom[0].ipBlock.cidr": "10.1.0.0/16" });
    expect(only(open, "NetworkPolicy", "s3-csi-ui")["spec"].ingress).toEqual([
      { from: [{ ipBlock: { cidr: "10.1.0.0/16" } }], ports: [{ port: "page", protocol: "TCP" }] },
    ]);
  });

  it.for([
    { "ui.replicas": "-1" },
    { "ui.maxViewers": "0" },
    { "ui.hosts[0]": "https://s3.example.com" },
    { "ui.enabled": "yes" },
    { "ui.unknown": "1" },
  ])("refuses %j", (values) => {
    expect(() => render({ ...on, ...values })).toThrow(/ui/);
  });

  it("comes also with stored values that do not know it", () => {
    const stored = render({}, chartDirectory, [
      "--set-json",
      'ui={"enabled":true,"serviceAccount":null,"tls":null,"resources":null}',
    ]);
    expect(configOf(stored).address.port).toBe(8080);
  });
});

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
