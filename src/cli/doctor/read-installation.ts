/** Reads what the checks look at. What the user may not read is named, and its checks are left out. */
import { attachmentApi, caBundle as caNames, driverName, reconcilerLease } from "../../core/names.ts";
import { buildTopology } from "../../topology/build-topology.ts";
import type { Cluster } from "../../topology/cluster.ts";
import type {
  CsiNode,
  EventObject,
  KubeObject,
  Lease,
  Node,
  Pod,
  StorageClass,
  Workload,
} from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import type { ApiServer } from "../api/api-server.ts";
import { isForbidden, isNotFound } from "../api/request-errors.ts";
import { type Read, readable, readCluster, type Scope } from "../cluster/read-cluster.ts";
import {
  type CaBundle,
  type CsiDriver,
  type Definition,
  type Installation,
  type Maybe,
  present,
  type ResourceQuota,
} from "./installation.ts";
import { readRights } from "./rights.ts";
import { readSecrets } from "./secrets.ts";

export interface DoctorRequest {
  readonly signal: AbortSignal;
  readonly api: ApiServer;
  readonly scope: Scope;
}

export async function readInstallation(request: DoctorRequest): Promise<Installation> {
  const { signal, api, scope } = request;
  const cluster = await readCluster(signal, api, scope);
  const unreadable = [...cluster.unreadable];
  const reader = { ...request, unreadable, read: readable(unreadable) };
  const core = await readDriver(reader, cluster);
  const lists = await readLists(reader, cluster);
  const classes = lists.classes.filter(({ provisioner }) => provisioner === driverName);
  const named = new Set(classes.map(({ metadata }) => metadata.name));
  const claims = cluster.claims.filter(({ spec }) => named.has(spec.storageClassName ?? ""));
  const deployment = present(core.deployment);
  const accounts = { deployment, daemonSet: present(core.daemonSet), namespaces: cluster.namespaces };
  return {
    ...{ cluster, ...core, ...lists, classes, claims, unreadable },
    topology: buildTopology(cluster),
    now: await serverTime(signal, api),
    secrets: await readSecrets(reader, { volumes: cluster.volumes, classes, deployment }),
    rights: await readRights(reader, accounts),
    tried: undefined,
  };
}

export interface Reader extends DoctorRequest {
  readonly read: Read;
  readonly unreadable: string[];
}

/** The objects with fixed names. */
async function readDriver(reader: Reader, { namespaces }: Cluster) {
  const { driver, mountpointPods } = namespaces;
  const get = <Shape>(path: string) => getIfReadable<Shape>(reader, path);
  const deployment = await get<Workload>(`/apis/apps/v1/namespaces/${driver}/deployments/s3-csi-controller`);
  const { gitVersion } = await reader.api.json<{ gitVersion: string }>(reader.signal, { path: "/version" });
  const lease = `/apis/coordination.k8s.io/v1/namespaces/${driver}/leases/${reconcilerLease}`;
  return {
    serverVersion: gitVersion,
    deployment,
    definition: await get<Definition>(
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${attachmentApi.plural}.${attachmentApi.group}`,
    ),
    csiDriver: await get<CsiDriver>(`/apis/storage.k8s.io/v1/csidrivers/${driverName}`),
    daemonSet: await get<Workload>(`${paths.daemonSets(driver)}/s3-csi-node`),
    lease: await get<Lease>(lease),
    mountpointNamespace: await get<KubeObject>(`/api/v1/namespaces/${mountpointPods}`),
    caBundle: await readCaBundle(reader, present(deployment), driver),
  };
}

async function readLists({ signal, api, read }: Reader, { namespaces }: Cluster) {
  const query = { labelSelector: "app in (s3-csi-controller,s3-csi-node)" };
  const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
  const quotas = `/api/v1/namespaces/${namespaces.mountpointPods}/resourcequotas`;
  const [driverPods, nodes, csiNodes, nodeLeases, classes, priorities, resourceQuotas, events] = await Promise.all([
    read("Pods of the driver", api.list<Pod>(signal, paths.pods(namespaces.driver), { query })),
    read("Nodes", api.list<Node>(signal, "/api/v1/nodes")),
    read("CSINodes", api.list<CsiNode>(signal, "/apis/storage.k8s.io/v1/csinodes")),
    read("Leases of nodes", api.list<Lease>(signal, leases)),
    read("StorageClasses", api.list<StorageClass>(signal, "/apis/storage.k8s.io/v1/storageclasses")),
    read("PriorityClasses", api.list<KubeObject>(signal, "/apis/scheduling.k8s.io/v1/priorityclasses")),
    read("ResourceQuotas", api.list<ResourceQuota>(signal, quotas)),
    read("Events", api.list<EventObject>(signal, paths.events(), { keep: ({ type }) => type === "Warning" })),
  ]);
  return {
    ...{ driverPods, nodes, csiNodes, classes, events, quotas: resourceQuotas },
    nodeLeases: new Map(nodeLeases.map((lease) => [lease.metadata.name, lease])),
    priorityClasses: new Set(priorities.map(({ metadata }) => metadata.name)),
  };
}

/** The ConfigMap that the controller mounts as its CA. */
async function readCaBundle(
  reader: Reader,
  deployment: Workload | undefined,
  namespace: string,
): Promise<CaBundle | undefined> {
  const volumes = (deployment?.spec.template.spec.volumes ?? []) as readonly ConfigMapVolume[];
  const configMap = volumes.find(({ name }) => name === caNames.configMapVolume)?.configMap?.name;
  if (configMap === undefined) return undefined;
  const path = `/api/v1/namespaces/${namespace}/configmaps/${configMap}`;
  const found = await getIfReadable<{ data?: Record<string, string> }>(reader, path);
  const text = present(found)?.data?.[caNames.configMapKey];
  const pem = found === "unreadable" ? found : text === undefined ? "missing" : { text };
  return { configMap: `${namespace}/${configMap}`, pem };
}

interface ConfigMapVolume {
  readonly name: string;
  readonly configMap?: { readonly name?: string };
}

async function getIfReadable<Shape>(reader: Reader, path: string): Promise<Maybe<Shape>> {
  try {
    return await reader.api.json<Shape>(reader.signal, { path });
  } catch (error) {
    if (isNotFound(error)) return "missing";
    if (!isForbidden(error)) throw error;
    reader.unreadable.push((error as Error).message);
    return "unreadable";
  }
}

/** Ages of objects are judged by the clock that stamped them. */
async function serverTime(signal: AbortSignal, api: ApiServer): Promise<Date> {
  return (await api.date(signal)) ?? new Date();
}
