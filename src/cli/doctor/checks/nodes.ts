/** Checks of nodes: does the driver run on each, and can its mounts be trusted. */
import { driverName, startupTaintKey } from "../../../core/names.ts";
import type { Node, Pod } from "../../../topology/objects.ts";
import type { Finding } from "../finding.ts";
import { type Installation, present } from "../installation.ts";

export function checkCoverage(installation: Installation): readonly Finding[] {
  if (present(installation.daemonSet) === undefined) return [];
  return installation.nodes.filter(isLinux).flatMap((node) => {
    const { name } = node.metadata;
    if (pluginOn(installation, name) === undefined) return [withoutPlugin(node)];
    return [];
  });
}

function withoutPlugin({ metadata, spec }: Node): Finding {
  const taints = (spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`);
  return {
    id: "node-without-plugin",
    severity: "warning",
    summary: `Pods with volumes do not start on node ${metadata.name}: no node plugin runs there`,
    evidence:
      taints.length === 0
        ? "no Pod of the DaemonSet s3-csi-node; look at node.nodeSelector"
        : `taints: ${taints.join(", ")}`,
    fix: "set node.tolerateAllTaints=true or node.tolerations in the chart's values",
  };
}

export function checkRegistration(installation: Installation): readonly Finding[] {
  const { csiNodes, unreadable } = installation;
  if (unreadable.some((each) => each.startsWith("CSINodes"))) return [];
  const registered = new Set(
    csiNodes.flatMap(({ metadata, spec }) =>
      (spec.drivers ?? []).some(({ name }) => name === driverName) ? [metadata.name] : [],
    ),
  );
  return installation.nodes.filter(isLinux).flatMap(({ metadata: { name } }) => {
    const plugin = pluginOn(installation, name);
    const isReady = plugin?.status?.containerStatuses?.some(({ ready }) => ready) === true;
    if (!isReady || registered.has(name)) return [];
    return [
      {
        id: "node-not-registered",
        severity: "problem" as const,
        summary: `kubelet of node ${name} does not know the driver`,
        evidence: `CSINode ${name} does not list ${driverName}, although the node plugin is ready`,
        fix: `check node.kubeletPath in the chart's values, then kubectl delete pod -n ${installation.cluster.namespaces.driver} ${plugin.metadata.name}`,
      },
    ];
  });
}

export function checkStartupTaints({ nodes, cluster }: Installation): readonly Finding[] {
  return nodes.flatMap(({ metadata, spec }) => {
    const taint = spec.taints?.find(({ key }) => key === startupTaintKey);
    if (taint === undefined) return [];
    return [
      {
        id: "startup-taint",
        severity: "warning" as const,
        summary: `Node ${metadata.name} takes no workloads yet: it has the startup taint of the driver`,
        evidence: `${taint.key}:${taint.effect}`,
        fix: `the node plugin removes it when it is ready; see kubectl logs -n ${cluster.namespaces.driver} -l app=s3-csi-node`,
      },
    ];
  });
}

export function checkNodesReady({ nodes, topology }: Installation): readonly Finding[] {
  const inUse = new Set(topology.volumes.flatMap(({ attachments }) => attachments.map(({ node }) => node)));
  return nodes.flatMap(({ metadata, status }) => {
    const ready = status?.conditions?.find(({ type }) => type === "Ready");
    if (!inUse.has(metadata.name) || ready?.status === "True") return [];
    return [
      {
        id: "node-not-ready",
        severity: "problem" as const,
        summary: `Node ${metadata.name} has mounts and is not ready`,
        evidence: `${ready?.reason ?? "no condition Ready"}: ${ready?.message ?? ""}`,
        fix: `kubectl describe node ${metadata.name}`,
      },
    ];
  });
}

/** kubelet renews every 10 s. S3 refuses signatures that are 15 minutes off; a minute is already wrong. */
const skewMs = 60_000;

/** kubelet stamps its lease with the clock of the node. A node that is silent is not ready, and another check says so. */
export function checkClocks({ nodes, nodeLeases, now }: Installation): readonly Finding[] {
  return nodes.flatMap(({ metadata, status }) => {
    const isReady = status?.conditions?.some(({ type, status: state }) => type === "Ready" && state === "True");
    const offMs = Date.parse(nodeLeases.get(metadata.name)?.spec.renewTime ?? "") - now.getTime();
    if (isReady !== true || !(Math.abs(offMs) > skewMs)) return [];
    return [
      {
        id: "clock-skew",
        severity: "problem" as const,
        summary: `The clock of node ${metadata.name} is wrong: S3 refuses signed requests`,
        evidence: `${Math.round(Math.abs(offMs) / 1000)} s ${offMs > 0 ? "ahead of" : "behind"} the API server, by kubelet's lease`,
        fix: "repair time synchronisation (chrony or systemd-timesyncd) on the node",
      },
    ];
  });
}

function isLinux({ metadata }: Node): boolean {
  return (metadata.labels?.["kubernetes.io/os"] ?? "linux") === "linux";
}

function pluginOn({ driverPods }: Installation, node: string): Pod | undefined {
  return driverPods.find(({ metadata, spec }) => metadata.labels?.["app"] === "s3-csi-node" && spec.nodeName === node);
}
