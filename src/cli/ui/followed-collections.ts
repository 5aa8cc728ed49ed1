/** What of the cluster the page needs: the same objects as `readCluster` reads, and events. */
import { driverName } from "../../core/names.ts";
import type { ApiServer } from "../api/api-server.ts";
import type { AttachmentObject, EventObject, KubeObject, PersistentVolume, Pod } from "../cluster/objects.ts";
import { paths, type Scope } from "../cluster/read-cluster.ts";
import { type CollectionSpec, FollowedCollection } from "./followed-collection.ts";

export interface Following {
  readonly api: ApiServer;
  readonly onChange: () => void;
}

export function followedCollections({ api, onChange }: Following, { namespace }: Scope, mountpointNamespace: string) {
  const followed = <Shape extends KubeObject>(spec: CollectionSpec<Shape>) =>
    new FollowedCollection<Shape>(api, spec, onChange);
  const isShown = ({ spec }: PersistentVolume) =>
    spec.csi?.driver === driverName && (namespace === undefined || spec.claimRef?.namespace === namespace);
  // The namespace of an event is that of its object.
  const eventNamespaces = namespace === undefined ? [undefined] : [namespace, mountpointNamespace];
  return {
    volumes: followed<PersistentVolume>({ what: "PersistentVolumes", path: paths.volumes, keep: isShown }),
    attachments: followed<AttachmentObject>({
      what: "MountpointS3PodAttachments",
      path: paths.attachments,
      keep: everything,
    }),
    mountpointPods: followed<Pod>({
      what: "Mountpoint Pods",
      path: paths.pods(mountpointNamespace),
      keep: everything,
    }),
    workloads: followed<Pod>({ what: "Pods", path: paths.pods(namespace), keep: hasClaims }),
    events: eventNamespaces.map((each) =>
      followed<EventObject>({ what: "Events", path: paths.events(each), keep: isAboutVolumes }),
    ),
  };
}

function everything(): boolean {
  return true;
}

function hasClaims({ spec }: Pod): boolean {
  return (spec.volumes ?? []).some((each) => each.persistentVolumeClaim ?? each.ephemeral);
}

const eventKinds: ReadonlySet<string> = new Set([
  "Pod",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "MountpointS3PodAttachment",
]);

function isAboutVolumes({ involvedObject: { kind = "" } }: EventObject): boolean {
  return eventKinds.has(kind);
}
