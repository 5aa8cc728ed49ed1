/** A healthy installation around the healthy cluster; tests change what they are about. */
import { driverName } from "../../core/names.ts";
import { buildTopology } from "../../topology/build-topology.ts";
import { cluster, metadata } from "../../topology/cluster.fixture.ts";
import type { Cluster } from "../../topology/cluster.ts";
import type { Pod } from "../../topology/objects.ts";
import type { Definition, Installation } from "./installation.ts";

export const now = new Date("2026-01-15T10:10:00Z");

export function definition(fields: readonly string[] = ["authenticationSource"], version = "v2"): Definition {
  const properties = { spec: { properties: Object.fromEntries(fields.map((field) => [field, {}])) } };
  const versions = [{ name: version, served: true, schema: { openAPIV3Schema: { properties } } }];
  return { metadata: metadata("definition"), spec: { versions } };
}

function driverPod(app: string, name: string): Pod {
  return {
    metadata: { ...metadata(name, "kube-system"), labels: { app } },
    spec: { nodeName: "worker-1", containers: [{ name: app, image: "driver:3.0.0" }] },
    status: { phase: "Running", containerStatuses: [{ name: app, ready: true, restartCount: 0 }] },
  };
}

/** `of`: what the cluster has. */
export function installation(but: Partial<Installation> = {}, of: Partial<Cluster> = {}): Installation {
  const read = cluster(of);
  const ready = [{ type: "Ready", status: "True" }];
  return {
    cluster: read,
    topology: buildTopology(read),
    now,
    serverVersion: "v1.36.3",
    definition: definition(),
    csiDriver: {
      metadata: metadata(driverName),
      spec: { attachRequired: false, podInfoOnMount: true, requiresRepublish: true },
    },
    daemonSet: { metadata: metadata("s3-csi-node", "kube-system"), spec: { template: { spec: { containers: [] } } } },
    deployment: {
      metadata: metadata("s3-csi-controller", "kube-system"),
      spec: { replicas: 1, template: { spec: { containers: [] } } },
      status: { readyReplicas: 1 },
    },
    driverPods: [driverPod("s3-csi-controller", "controller-1"), driverPod("s3-csi-node", "node-1")],
    nodes: [{ metadata: metadata("worker-1"), spec: {}, status: { conditions: ready } }],
    csiNodes: [{ metadata: metadata("worker-1"), spec: { drivers: [{ name: driverName }] } }],
    nodeLeases: new Map(),
    lease: { metadata: metadata("lease"), spec: { holderIdentity: "controller-1", renewTime: "2026-01-15T10:09:59Z" } },
    classes: [],
    claims: [],
    priorityClasses: new Set(["mount-s3-critical"]),
    mountpointNamespace: { metadata: metadata("mount-s3") },
    quotas: [],
    secrets: new Map(),
    caBundle: undefined,
    rights: [],
    events: [],
    tried: undefined,
    unreadable: [],
    ...but,
  };
}
