/** The Node objects, and the Pods of the node plugins on them. */
import type { NodeName } from "../../src/core/names.ts";
import { kinds } from "../../src/kube/kinds.ts";
import type { ApiServer } from "./api-server.ts";
import { releaseNamespace } from "./release.ts";

/** full: the scheduler finds no room for another Pod. notReady: its kubelet does nothing. */
export type NodeCondition = "usual" | "cordoned" | "underPressure" | "notReady" | "full";

export function createNode(server: ApiServer, name: NodeName): void {
  server.create(kinds.nodes, { metadata: { name } });
  putNode(server, name, "usual");
  const metadata = { name: `s3-csi-${name}`, namespace: releaseNamespace, labels: { app: "s3-csi-node" } };
  const plugin = { metadata, spec: { nodeName: name, containers: [] }, status: { phase: "Running" } };
  server.create(kinds.pods, plugin);
}

export function putNode(server: ApiServer, name: NodeName, state: NodeCondition): void {
  const conditions = [
    { type: "Ready", status: state === "notReady" ? "Unknown" : "True" },
    { type: "MemoryPressure", status: state === "underPressure" ? "True" : "False" },
  ];
  const allocatable = { cpu: "4", memory: "16Gi", pods: state === "full" ? "0" : "110" };
  const status = { conditions, allocatable, nodeInfo: { kernelVersion: "6.18.0" } };
  // null removes the field.
  server.patch(kinds.nodes, { name }, { spec: { unschedulable: state === "cordoned" ? true : null }, status });
}

export function hasRoom(server: ApiServer, name: NodeName): boolean {
  return server.get(kinds.nodes, { name })?.status?.allocatable?.["pods"] !== "0";
}

export function isReady(server: ApiServer, name: NodeName): boolean {
  const { conditions = [] } = server.get(kinds.nodes, { name })?.status ?? {};
  return conditions.some(({ type, status }) => type === "Ready" && status === "True");
}
