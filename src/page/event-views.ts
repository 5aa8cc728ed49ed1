/** Pure: which events concern which volumes. */
import type { Cluster } from "../topology/cluster.ts";
import { countOf, timeOf } from "../topology/event-times.ts";
import type { EventObject } from "../topology/objects.ts";
import type { Topology, VolumeView } from "../topology/topology.ts";
import type { EventView } from "./page-state.ts";
import { latestFirst } from "./state-change.ts";

/** A page with more is read by nobody; `kubectl s3 events` has all of them. */
const mostEvents = 2000;

/** Those about objects of the volumes, the latest first. */
export function eventViews(cluster: Cluster, topology: Topology, events: readonly EventObject[]): readonly EventView[] {
  const volumes = volumesByObject(cluster, topology);
  const views = events.flatMap((event) => {
    const { involvedObject } = event;
    const concerned = volumes.get(involvedObject.uid ?? "") ?? volumes.get(keyOf(involvedObject));
    return concerned === undefined ? [] : [eventView(event, concerned)];
  });
  return views.toSorted(latestFirst).slice(0, mostEvents);
}

function eventView(event: EventObject, volumes: ReadonlySet<string>): EventView {
  const { metadata, type, reason = "", message = "", involvedObject } = event;
  return {
    uid: metadata.uid,
    time: timeOf(event),
    isWarning: type === "Warning",
    reason,
    message,
    count: countOf(event),
    kind: involvedObject.kind ?? "",
    namespace: involvedObject.namespace ?? "",
    name: involvedObject.name ?? "",
    volumes: [...volumes].toSorted((a, b) => (a < b ? -1 : 1)),
  };
}

/** UID, or kind and name of an object → names of volumes. */
function volumesByObject(cluster: Cluster, { volumes }: Topology): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  const add = (object: string, volume: string) => {
    const names = found.get(object);
    if (names === undefined) found.set(object, new Set([volume]));
    else names.add(volume);
  };
  for (const volume of volumes) for (const object of objectsOf(volume)) add(object, volume.name);
  const byClaim = new Map(volumes.map(({ claim, name }) => [`${claim?.namespace}/${claim?.name}`, name]));
  // A workload whose volume could not be mounted yet is in no attachment, and its events are those one looks for.
  for (const { metadata, spec } of cluster.workloads) {
    for (const { persistentVolumeClaim: used } of spec.volumes ?? []) {
      const volume = used && byClaim.get(`${metadata.namespace}/${used.claimName}`);
      if (volume !== undefined) add(metadata.uid, volume);
    }
  }
  return found;
}

function objectsOf({ name, claim, attachments }: VolumeView): readonly string[] {
  const pods = attachments.flatMap(({ mountpointPods }) => mountpointPods);
  return [
    keyOf({ kind: "PersistentVolume", name }),
    ...(claim === undefined ? [] : [keyOf({ kind: "PersistentVolumeClaim", ...claim })]),
    ...attachments.map((each) => keyOf({ kind: "MountpointS3PodAttachment", name: each.name })),
    ...pods.map((pod) => keyOf({ kind: "Pod", namespace: pod.namespace, name: pod.name })),
    ...pods.flatMap(({ workloads }) => workloads.map(({ uid }) => uid)),
  ];
}

/** Not the namespace of the event: events about objects without a namespace are in the namespace `default`. */
function keyOf({ kind, namespace, name }: EventObject["involvedObject"]): string {
  return [kind, namespace ?? "", name].join("/");
}
