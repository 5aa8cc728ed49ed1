/**
 * Pure: the parts of objects that the page shows. Nothing else is kept: a cluster may have tens of thousands of Pods, and their
 * specifications contain environments that nobody should find in the memory of this process.
 */
import type { AttachmentObject, EventObject, Metadata, PersistentVolume, Pod } from "../topology/objects.ts";

export function keptVolume({ metadata, spec, status }: PersistentVolume): PersistentVolume {
  return { metadata: identity(metadata), spec, ...(status && { status }) };
}

export function keptAttachment({ metadata, spec, status }: AttachmentObject): AttachmentObject {
  return { metadata: identity(metadata), spec, ...(status && { status }) };
}

/** Labels and annotations say what the Pod is for and whether it is to be unmounted. */
export function keptMountpointPod({ metadata, spec, status }: Pod): Pod {
  const { labels, annotations } = metadata;
  const { nodeName, affinity } = spec;
  return {
    metadata: { ...identity(metadata), ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: { containers: [], ...(nodeName && { nodeName }), ...(affinity && { affinity }) },
    ...(status && { status }),
  };
}

/** Undefined: it has no volume that comes from a claim. */
export function keptWorkload({ metadata, spec, status }: Pod): Pod | undefined {
  const volumes = (spec.volumes ?? []).filter((each) => each.persistentVolumeClaim ?? each.ephemeral);
  if (volumes.length === 0) return undefined;
  const claims = volumes.map(({ name, persistentVolumeClaim: claim }) => ({
    name,
    ...(claim && { persistentVolumeClaim: { claimName: claim.claimName } }),
  }));
  const { phase } = status ?? {};
  return {
    metadata: identity(metadata),
    spec: { containers: [], volumes: claims },
    ...(phase && { status: { phase } }),
  };
}

const eventKinds: ReadonlySet<string> = new Set([
  "Pod",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "MountpointS3PodAttachment",
]);

/** Undefined: it is about nothing that the page shows. */
export function keptEvent(event: EventObject): EventObject | undefined {
  const { kind = "", namespace, name, uid } = event.involvedObject;
  if (!eventKinds.has(kind)) return undefined;
  const { type, reason, message, count, lastTimestamp, eventTime, series } = event;
  return {
    metadata: identity(event.metadata),
    involvedObject: { kind, ...(namespace && { namespace }), ...(name && { name }), ...(uid && { uid }) },
    ...(type && { type }),
    ...(reason && { reason }),
    ...(message && { message }),
    ...(count && { count }),
    ...(lastTimestamp && { lastTimestamp }),
    ...(eventTime && { eventTime }),
    ...(series && { series }),
  };
}

function identity({ name, namespace, uid, creationTimestamp, deletionTimestamp }: Metadata): Metadata {
  return {
    ...{ name, uid, creationTimestamp },
    ...(namespace && { namespace }),
    ...(deletionTimestamp && { deletionTimestamp }),
  };
}
