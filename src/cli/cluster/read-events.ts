/** Events about objects of the driver. */
import { timeOf } from "../../topology/event-times.ts";
import type { EventObject } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import type { VolumeView } from "../../topology/topology.ts";
import type { ApiServer } from "../api/api-server.ts";
import { isForbidden } from "../api/request-errors.ts";
import { readable, type Scope } from "./read-cluster.ts";

/**
 * Of the objects of these volumes, oldest first. Those about objects of the cluster and about Mountpoint Pods are in other namespaces, so
 * all are read; a user who may not gets those of the own namespace. What the user may not read is named in `unreadable`.
 */
export async function readEvents(
  signal: AbortSignal,
  api: ApiServer,
  volumes: readonly VolumeView[],
  { unreadable, namespace }: Pick<Scope, "namespace"> & { readonly unreadable: string[] },
): Promise<readonly EventObject[]> {
  const about = objectsOf(volumes);
  const keep = ({ involvedObject }: EventObject) =>
    about.has(keyOf(involvedObject)) || about.has(involvedObject.uid ?? "");
  const read = readable(unreadable);
  const ofNamespace = async (error: unknown) => {
    if (namespace === undefined || !isForbidden(error)) throw error;
    unreadable.push("Events of other namespaces");
    return await api.list<EventObject>(signal, paths.events(namespace), { keep });
  };
  const found = await read("Events", api.list<EventObject>(signal, paths.events(), { keep }).catch(ofNamespace));
  return found.toSorted((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1));
}

function objectsOf(volumes: readonly VolumeView[]): ReadonlySet<string> {
  return new Set(
    volumes.flatMap((volume) => {
      const pods = volume.attachments.flatMap(({ mountpointPods }) => mountpointPods);
      return [
        keyOf({ kind: "PersistentVolume", name: volume.name }),
        ...(volume.claim === undefined ? [] : [keyOf({ kind: "PersistentVolumeClaim", ...volume.claim })]),
        ...volume.attachments.map(({ name }) => keyOf({ kind: "MountpointS3PodAttachment", name })),
        ...pods.map(({ name, namespace }) => keyOf({ kind: "Pod", namespace, name })),
        ...pods.flatMap(({ workloads }) => workloads.map(({ uid }) => uid)),
      ];
    }),
  );
}

/** Events about cluster-scoped objects are in a namespace, and their object is in none. */
function keyOf({ kind, namespace, name }: EventObject["involvedObject"]): string {
  return [kind, namespace ?? "", name].join("/");
}
