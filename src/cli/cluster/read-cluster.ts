/** Reads what `list`, `tree` and `describe` show. What the user may not read is named, and the rest is read. */
import { defaultMountpointNamespace, driverName } from "../../core/names.ts";
import type { Cluster, Namespaces } from "../../topology/cluster.ts";
import type { AttachmentObject, Claim, EventObject, PersistentVolume, Pod, Workload } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import type { ApiServer } from "../api/api-server.ts";
import { isForbidden, isNotFound } from "../api/request-errors.ts";

export interface Scope {
  /** Undefined: all namespaces. */
  readonly namespace?: string | undefined;
  /** Undefined: where the DaemonSet of the node plugin is. */
  readonly driverNamespace?: string | undefined;
}

const volumesTitle = "PersistentVolumes";

export async function readCluster(signal: AbortSignal, api: ApiServer, scope: Scope): Promise<Cluster> {
  const unreadable: string[] = [];
  const read = readable(unreadable);
  const namespaces = await findNamespaces(signal, api, scope, read);
  const [volumes, claims, attachments, mountpointPods, workloads] = await Promise.all([
    read(volumesTitle, api.list<PersistentVolume>(signal, paths.volumes, { keep: isOurs })),
    read("PersistentVolumeClaims", api.list<Claim>(signal, paths.claims(scope.namespace))),
    read("MountpointS3PodAttachments", api.list<AttachmentObject>(signal, paths.attachments)),
    read("Mountpoint Pods", api.list<Pod>(signal, paths.pods(namespaces.mountpointPods))),
    read("Pods", api.list<Pod>(signal, paths.pods(scope.namespace), { keep: hasClaims })),
  ]);
  const claimsOnly = scope.namespace !== undefined && unreadable.some((each) => each.startsWith(`${volumesTitle}: `));
  const events = claimsOnly ? await read("Events", api.list<EventObject>(signal, paths.events(scope.namespace))) : [];
  if (scope.namespace === undefined && volumes.length + claims.length === 0 && unreadable.length > 1)
    unreadable.push("if you have rights in one namespace only, name it with -n");
  const readAt = new Date().toISOString();
  const inScope = (volume: PersistentVolume) =>
    scope.namespace === undefined || volume.spec.claimRef?.namespace === scope.namespace;
  return {
    ...{ readAt, context: api.context, namespaces, claims, attachments, mountpointPods, workloads, unreadable },
    ...(claimsOnly && { claimsOnly, events }),
    volumes: volumes.filter(inScope),
  };
}

export type Read = <Shape>(what: string, request: Promise<Shape[]>) => Promise<Shape[]>;

/** A list that the user may not read, or that the cluster does not know, is empty and named in `unreadable`. */
export function readable(unreadable: string[]): Read {
  return async (what, request) => {
    try {
      return await request;
    } catch (error) {
      if (!isForbidden(error) && !isNotFound(error)) throw error;
      unreadable.push(`${what}: ${(error as Error).message}`);
      return [];
    }
  };
}

/** The DaemonSet has a fixed name, its namespace is the one of the Helm release, and its environment names the other one. */
export async function findNamespaces(
  signal: AbortSignal,
  api: ApiServer,
  { driverNamespace }: Scope,
  read: Read,
): Promise<Namespaces> {
  const query = { fieldSelector: "metadata.name=s3-csi-node" };
  const found = await read("DaemonSets", api.list<Workload>(signal, paths.daemonSets(driverNamespace), { query }));
  const [plugin] = found;
  const environment = plugin?.spec.template.spec.containers.flatMap(({ env = [] }) => env) ?? [];
  const configured = environment.find(({ name }) => name === "MOUNTPOINT_NAMESPACE")?.value;
  return {
    driver: plugin?.metadata.namespace ?? driverNamespace ?? "kube-system",
    mountpointPods: configured ?? defaultMountpointNamespace,
  };
}

function hasClaims({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some((each) => each.persistentVolumeClaim ?? each.ephemeral);
}

function isOurs({ spec }: PersistentVolume): boolean {
  return spec.csi?.driver === driverName;
}
