/** What of the cluster the page needs: the same objects as the commands read, and events. */
import { driverName } from "../core/names.ts";
import { timeOf } from "../topology/event-times.ts";
import type { AttachmentObject, EventObject, KubeObject, PersistentVolume, Pod } from "../topology/objects.ts";
import { paths } from "../topology/paths.ts";
import type { ClusterApi } from "./cluster-api.ts";
import { type CollectionSpec, FollowedCollection } from "./followed-collection.ts";
import { keptAttachment, keptEvent, keptMountpointPod, keptVolume, keptWorkload } from "./kept-objects.ts";

export interface Following {
  readonly api: ClusterApi;
  readonly onChange: () => void;
  readonly pulse?: ((loop: string) => () => void) | undefined;
}

/** Most events of a cluster are about Pods without S3 volumes, which is not known before they are compared with the topology. */
const mostEvents = 20_000;

/** `namespace`: of the claims whose volumes are shown; undefined: all. */
export function followedCollections(
  { api, onChange, pulse }: Following,
  namespace: string | undefined,
  mountpointNamespace: string,
) {
  const followed = <Shape extends KubeObject>(spec: CollectionSpec<Shape>) =>
    new FollowedCollection<Shape>(api, spec, { onChange, turned: pulse?.(`watch over ${spec.what}`) });
  const isShown = ({ spec }: PersistentVolume) =>
    spec.csi?.driver === driverName && (namespace === undefined || spec.claimRef?.namespace === namespace);
  // The namespace of an event is that of its object.
  const eventNamespaces = namespace === undefined ? [undefined] : [namespace, mountpointNamespace];
  return {
    volumes: followed<PersistentVolume>({
      what: "PersistentVolumes",
      path: paths.volumes,
      kept: (volume) => (isShown(volume) ? keptVolume(volume) : undefined),
    }),
    attachments: followed<AttachmentObject>({
      what: "MountpointS3PodAttachments",
      path: paths.attachments,
      kept: keptAttachment,
    }),
    mountpointPods: followed<Pod>({
      what: "Mountpoint Pods",
      path: paths.pods(mountpointNamespace),
      kept: keptMountpointPod,
    }),
    workloads: followed<Pod>({ what: "Pods", path: paths.pods(namespace), kept: keptWorkload }),
    events: eventNamespaces.map((each) =>
      followed<EventObject>({
        what: "Events",
        path: paths.events(each),
        kept: keptEvent,
        latest: { count: mostEvents, timeOf },
      }),
    ),
  };
}
