import { expect, it } from "vitest";
import type { Cluster } from "../topology/cluster.ts";
import type { EventObject, Pod } from "../topology/objects.ts";
import { eventViews } from "./event-views.ts";
import {
  attachmentView,
  emptyState,
  fixtureTime,
  mountpointPodView,
  volumeView,
  workloadView,
} from "./page-state.fixture.ts";

const volume = volumeView("pv", {
  claim: { namespace: "shop", name: "data" },
  attachments: [
    attachmentView("s3pa", { mountpointPods: [mountpointPodView("mp-1", { workloads: [workloadView("served")] })] }),
  ],
});
const metadata = { name: "waiting", namespace: "shop", uid: "uid-waiting", creationTimestamp: fixtureTime };
const waiting: Pod = {
  metadata,
  spec: { containers: [], volumes: [{ name: "v", persistentVolumeClaim: { claimName: "data" } }] },
};
const cluster: Cluster = {
  ...{ readAt: fixtureTime, context: "", namespaces: { driver: "d", mountpointPods: "mount-s3" } },
  ...{ volumes: [], claims: [], attachments: [], mountpointPods: [], unreadable: [] },
  workloads: [waiting],
};

function volumesOf(involvedObject: EventObject["involvedObject"]): readonly string[] | undefined {
  const event = { metadata: { ...metadata, name: "e", uid: "e" }, involvedObject };
  return eventViews(cluster, { ...emptyState({ volumes: [volume] }), waitingPods: [], readAt: fixtureTime }, [event])[0]
    ?.volumes;
}

it.for<EventObject["involvedObject"]>([
  { kind: "PersistentVolume", name: "pv" },
  { kind: "PersistentVolumeClaim", namespace: "shop", name: "data" },
  { kind: "MountpointS3PodAttachment", name: "s3pa" },
  { kind: "Pod", namespace: "mount-s3", name: "mp-1" },
  { kind: "Pod", namespace: "shop", name: "served", uid: "uid-served" },
  { kind: "Pod", namespace: "shop", name: "waiting", uid: "uid-waiting" },
])("an event about %j belongs to the volume", (object) => {
  expect(volumesOf(object)).toEqual(["pv"]);
});

it.for<EventObject["involvedObject"]>([
  { kind: "PersistentVolumeClaim", namespace: "other", name: "data" },
  { kind: "Pod", namespace: "shop", name: "mp-1", uid: "other" },
  { kind: "Node", name: "pv" },
])("an event about %j does not", (object) => {
  expect(volumesOf(object)).toBeUndefined();
});
