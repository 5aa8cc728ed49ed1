/** Who may read what: ports, metrics, and the policies of the network. */
import { describe, expect, it } from "vitest";
import { csiControllerConfigFrom } from "../../src/csi-controller/config.ts";
import { nodeConfigFrom } from "../../src/node/config.ts";
import { reconcilerConfigFrom } from "../../src/reconciler/config.ts";
import { uiConfigFrom } from "../../src/ui-server/config.ts";
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

const metricsOn = { "metrics.enabled": "true" };
const monitored = { "serviceMonitor.enabled": "true" };
const closed = { "networkPolicy.enabled": "true" };

it("SE-7 every port is declared, there is none but health, and a policy can close it", () => {
  const ports = containersOf(render()).flatMap((one) => one.ports as readonly { name?: string }[]);
  expect(ports.length).toBeGreaterThan(1);
  for (const { name } of ports) expect(name).toMatch(/healthz$/);
  expect(render().filter(({ kind }) => kind === "NetworkPolicy")).toEqual([]);
  const chart = render(closed);
  const { spec } = only(chart, "NetworkPolicy", "s3-csi-driver");
  expect(spec).toMatchObject({ policyTypes: ["Ingress"] });
  expect(spec).not.toHaveProperty("ingress");
  for (const kind of ["Deployment", "DaemonSet"]) {
    const { labels } = only(chart, kind)["spec"].template.metadata;
    expect(labels).toMatchObject(spec.podSelector.matchLabels);
  }
});

it.for([
  [{}, false],
  [metricsOn, true],
  [monitored, true],
  [{ "prometheusRule.enabled": "true" }, true],
] as const)("SE-7 %j → metrics are served: %j", ([values, expected]) => {
  const chart = render(values);
  expect(nodeConfigFrom(flagsOf(chart, "s3-plugin"), environment).metrics).toBe(expected);
  expect(csiControllerConfigFrom(flagsOf(chart, "s3-csi-controller"), environment).metrics).toBe(expected);
  expect(reconcilerConfigFrom(flagsOf(chart, "s3-pod-reconciler"), reconcilerEnvironment, "3.0.0").metrics).toBe(
    expected,
  );
  const paths = flagsOf(chart, "csi-provisioner").filter((flag) => flag.startsWith("--metrics-path="));
  expect(paths).toEqual(expected ? [] : ["--metrics-path=^/metrics"]);
  expect(notes(values).includes("/metrics")).toBe(expected);
});

it("a ServiceMonitor leads Prometheus to the ports that serve metrics, and is made only where asked for", () => {
  expect(render(metricsOn).filter(({ kind }) => ["Service", "ServiceMonitor"].includes(kind))).toEqual([]);
  const chart = render({ ...monitored, "serviceMonitor.labels.release": "prometheus" });
  const monitor = only(chart, "ServiceMonitor");
  expect(monitor.metadata.labels).toMatchObject({ release: "prometheus" });
  const endpoints = new Set((monitor["spec"].endpoints as readonly { port: string }[]).map(({ port }) => port));
  const reached: string[] = [];
  for (const [kind, app] of [
    ["DaemonSet", "s3-csi-node"],
    ["Deployment", "s3-csi-controller"],
  ] as const) {
    const service = only(chart, "Service", `${app}-metrics`);
    expect(service.metadata.labels).toMatchObject(monitor["spec"].selector.matchLabels);
    const { metadata, spec } = only(chart, kind)["spec"].template;
    expect(metadata.labels).toMatchObject(service["spec"].selector);
    const ports = service["spec"].ports as readonly { name: string; port: number; targetPort: string }[];
    expect(new Set(ports.map(({ port }) => port)).size).toBe(ports.length);
    const containers = spec.containers as readonly { name: string; ports: readonly { name: string }[] }[];
    for (const { name, targetPort } of ports.filter((port) => endpoints.has(port.name))) {
      const container = containers.find((one) => one.ports.some((port) => port.name === targetPort));
      reached.push(`${name}: ${container?.name}`);
    }
  }
  expect(reached.toSorted()).toEqual([
    "csi-provisioner: csi-provisioner",
    "metrics: s3-csi-controller",
    "metrics: s3-plugin",
    "pod-reconciler: s3-pod-reconciler",
  ]);
});

describe("OP-3 the page in the cluster has metrics like the other programs", () => {
  const withPage = { ...monitored, "ui.enabled": "true" };

  it.for([
    [{ "ui.enabled": "true" }, false, false],
    [{ ...metricsOn, "ui.enabled": "true" }, true, false],
    [withPage, true, false],
    [{ ...withPage, "metrics.authorization": "true" }, true, true],
  ] as const)("OP-3 %j → served: %j, with authorisation: %j", ([values, metrics, metricsAuthorization]) => {
    const config = uiConfigFrom(flagsOf(render(values), "s3-csi-ui"), environment);
    expect(config).toMatchObject({ metrics, metricsAuthorization, healthPort: 9812 });
    expect(notes(values).includes("9812")).toBe(metrics);
  });

  it("OP-3 the ServiceMonitor leads to its port", () => {
    const chart = render(withPage);
    const service = only(chart, "Service", "s3-csi-ui-metrics");
    expect(service.metadata.labels).toMatchObject(only(chart, "ServiceMonitor")["spec"].selector.matchLabels);
    const { metadata, spec } = only(chart, "Deployment", "s3-csi-ui")["spec"].template;
    expect(metadata.labels).toMatchObject(service["spec"].selector);
    expect(service["spec"].ports).toEqual([{ name: "metrics", port: 80, targetPort: "ui-healthz" }]);
    expect(spec.containers[0].ports).toContainEqual({ name: "ui-healthz", containerPort: 9812 });
    expect(render(monitored).map(({ metadata: { name } }) => name)).not.toContain("s3-csi-ui-metrics");
  });

  it("SE-7 a policy of the network lets Prometheus in there, and browsers nowhere", () => {
    const [rule, rates] = ingressOf(render({ ...closed, ...withPage })) as readonly Ingress[];
    expect(rule?.ports.map(({ port }) => port)).toEqual([9808, 9809, 9810, 9811, 9812]);
    // The page reads rates, of node plugins only.
    expect(rates).toMatchObject({
      from: [{ podSelector: { matchLabels: { app: "s3-csi-ui" } } }],
      ports: [{ port: 9808, protocol: "TCP" }],
    });
  });

  it.for([
    [withPage, "kube-system"],
    [{ ...withPage, "metrics.authorization": "true" }, undefined],
    [{ ...withPage, "metrics.volumes": "false" }, undefined],
    [{ "ui.enabled": "true" }, undefined],
  ] as const)(
    "SE-7 rates are on the page only where the metrics of volumes are open: %j → %j",
    ([values, namespace]) => {
      const { ratesFrom } = uiConfigFrom(flagsOf(render(values), "s3-csi-ui"), environment);
      expect(ratesFrom?.driverNamespace).toBe(namespace === undefined ? undefined : releaseNamespace);
      const rules = ingressOf(render({ ...closed, ...values })) as readonly Ingress[] | undefined;
      expect(JSON.stringify(rules ?? "").includes("s3-csi-ui")).toBe(namespace !== undefined);
    },
  );
});

describe("SE-7 the API server decides who may scrape, if the values say so", () => {
  const authorized = { ...monitored, "metrics.authorization": "true" };

  it.for([
    [{}, false],
    [{ "metrics.authorization": "true" }, false],
    [monitored, false],
    [authorized, true],
  ] as const)("SE-7 %j: %j", ([values, expected]) => {
    const chart = render(values);
    const configs = [
      nodeConfigFrom(flagsOf(chart, "s3-plugin"), environment),
      csiControllerConfigFrom(flagsOf(chart, "s3-csi-controller"), environment),
      reconcilerConfigFrom(flagsOf(chart, "s3-pod-reconciler"), reconcilerEnvironment, "3.0.0"),
    ];
    expect(configs.map(({ metricsAuthorization }) => metricsAuthorization)).toEqual([expected, expected, expected]);
    const reviewing = chart.filter(({ rules }) =>
      /tokenreviews|subjectaccessreviews/.test(JSON.stringify(rules ?? "")),
    );
    expect(reviewing.length).toBe(expected ? 1 : 0);
  });

  it("SE-7 every program may ask, and those who scrape get a role", () => {
    const chart = render(authorized);
    const { rules } = only(chart, "ClusterRole", "s3-csi-metrics-authorization");
    expect(rules).toEqual([
      { apiGroups: ["authentication.k8s.io"], resources: ["tokenreviews"], verbs: ["create"] },
      { apiGroups: ["authorization.k8s.io"], resources: ["subjectaccessreviews"], verbs: ["create"] },
    ]);
    const bindings = chart.filter(({ roleRef }) => roleRef?.name === "s3-csi-metrics-authorization");
    const accounts = ["DaemonSet", "Deployment"].map(
      (kind) => only(chart, kind)["spec"].template.spec.serviceAccountName,
    );
    expect(bindings.flatMap(({ subjects }) => subjects.map(({ name }: { name: string }) => name))).toEqual(accounts);
    expect(only(chart, "ClusterRole", "s3-csi-metrics-reader")["rules"]).toEqual([
      { nonResourceURLs: ["/metrics"], verbs: ["get"] },
    ]);
  });

  it("SE-7 no port is left without a check: csi-provisioner has no metrics", () => {
    const chart = render({ ...closed, ...authorized });
    expect(flagsOf(chart, "csi-provisioner")).toContain("--metrics-path=^/metrics");
    const ports = only(chart, "Service", "s3-csi-controller-metrics")["spec"].ports as readonly { name: string }[];
    expect(ports.map(({ name }) => name)).toEqual(["pod-reconciler", "metrics"]);
    expect(JSON.stringify(ingressOf(chart))).not.toContain("9811");
  });

  it("SE-7 Prometheus sends its own token, or what the values say", () => {
    const own = { bearerTokenFile: "/var/run/secrets/kubernetes.io/serviceaccount/token" };
    expect(endpointsOf(authorized)).toMatchObject([
      { port: "metrics", ...own },
      { port: "pod-reconciler", ...own },
    ]);
    const secret = { "serviceMonitor.authorization.credentials.name": "scraper" };
    for (const endpoint of endpointsOf({ ...authorized, ...secret })) {
      expect(endpoint).toMatchObject({ authorization: { credentials: { name: "scraper" } } });
      expect(endpoint).not.toHaveProperty("bearerTokenFile");
    }
    expect(JSON.stringify(endpointsOf({ ...monitored, ...secret }))).not.toMatch(/bearer|scraper/);
  });
});

describe("SE-7 a policy of the network lets Prometheus in", () => {
  const ports = [9808, 9809, 9810, 9811].map((port) => ({ port, protocol: "TCP" }));

  it("SE-7 from the namespace monitoring, to the ports with metrics", () => {
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": "monitoring" } };
    for (const values of [metricsOn, monitored]) {
      expect(ingressOf(render({ ...closed, ...values }))).toEqual([{ from: [{ namespaceSelector }], ports }]);
    }
  });

  it("SE-7 from where the values say", () => {
    const from = { "networkPolicy.metricsFrom[0].ipBlock.cidr": "10.1.0.0/16" };
    const chart = render({ ...closed, ...monitored, ...from });
    expect(ingressOf(chart)).toEqual([{ from: [{ ipBlock: { cidr: "10.1.0.0/16" } }], ports }]);
  });

  it("SE-7 from nowhere, if the values say so: an empty list would mean everybody", () => {
    const nobody = ["--set-json", "networkPolicy.metricsFrom=[]"];
    expect(ingressOf(render({ ...closed, ...monitored }, chartDirectory, nobody))).toBeUndefined();
  });
});

interface Ingress {
  readonly ports: readonly { readonly port: number }[];
}

const environment = {
  AWS_ENDPOINT_URL: "http://s3",
  CSI_NODE_NAME: "node-1",
  KUBERNETES_SERVICE_HOST: "10.96.0.1",
  KUBERNETES_SERVICE_PORT: "443",
};

const reconcilerEnvironment = {
  ...environment,
  POD_NAME: "pod",
  POD_NAMESPACE: "kube-system",
  MOUNTPOINT_IMAGE: "driver",
  MOUNTPOINT_VERSION: "1.24.0",
};

/** With variables of the container's environment in them, which kubelet puts in. */
function flagsOf(chart: readonly Manifest[], container: string): readonly string[] {
  const { args, env } = containerOf(chart, container);
  return args.map((arg) =>
    arg.replaceAll(/\$\((\w+)\)/g, (_, name) => env.find((variable) => variable.name === name)?.value ?? ""),
  );
}

function ingressOf(chart: readonly Manifest[]): unknown {
  return only(chart, "NetworkPolicy", "s3-csi-driver")["spec"].ingress;
}

function endpointsOf(values: Readonly<Record<string, string>>): readonly Readonly<Record<string, unknown>>[] {
  return only(render(values), "ServiceMonitor")["spec"].endpoints as readonly Readonly<Record<string, unknown>>[];
}
