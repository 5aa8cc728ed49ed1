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
  return {
    metadata: { ...identity(metadata), ...present(metadata, ["labels", "annotations"]) },
    spec: { containers: [], ...present(spec, ["nodeName", "affinity"]) },
    ...(status && { status }),
  };
}

/** Undefined: it has no volume that comes from a claim. */
export function keptWorkload({ metadata, spec, status = {} }: Pod): Pod | undefined {
  const volumes = (spec.volumes ?? []).filter((each) => each.persistentVolumeClaim ?? each.ephemeral);
  if (volumes.length === 0) return undefined;
  const claims = volumes.map((each) => present(each, ["name", "persistentVolumeClaim"]));
  return {
    metadata: identity(metadata),
    spec: { containers: [], volumes: claims },
    status: present(status, ["phase"]),
  };
}

const eventKinds: ReadonlySet<string | undefined> = new Set([
  "Pod",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "MountpointS3PodAttachment",
]);

/** Undefined: it is about nothing that the page shows. */
export function keptEvent(event: EventObject): EventObject | undefined {
  if (!eventKinds.has(event.involvedObject.kind)) return undefined;
  return {
    metadata: identity(event.metadata),
    involvedObject: present(event.involvedObject, ["kind", "namespace", "name", "uid"]),
    ...present(event, ["type", "reason", "message", "count", "lastTimestamp", "eventTime", "series"]),
  };
}

function identity(metadata: Metadata): Metadata {
  return present(metadata, ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp"]);
}

/** Those of the fields that the object has. */
function present<Shape extends object, Field extends keyof Shape>(
  object: Shape,
  fields: readonly Field[],
): Pick<Shape, Field> {
  const found = fields.filter((field) => object[field] !== undefined && object[field] !== null);
  return Object.fromEntries(found.map((field) => [field, object[field]])) as Pick<Shape, Field>;
}
