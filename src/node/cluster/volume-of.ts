import { DriverError } from "../../core/errors.ts";
import type { PvName } from "../../core/names.ts";
import type { Attachments } from "./attachments.ts";
import type { LocalMountpointPod } from "./mountpoint-pods.ts";

/**
 * The PersistentVolume of a Mountpoint Pod: the one that it names, else the only one whose attachment lists it. undefined: it waits for a
 * volume, or several claim it.
 */
export function volumeOf(attachments: Attachments, pod: LocalMountpointPod): PvName | undefined {
  if (pod.persistentVolume !== undefined) return pod.persistentVolume;
  const listing = [...attachments.store.values()].filter((spec) => spec.mountpointS3PodAttachments[pod.name]);
  const volumes = new Set(listing.map((spec) => spec.persistentVolumeName));
  return volumes.size === 1 ? [...volumes][0] : undefined;
}

interface Known {
  readonly attachments: Attachments;
  /** The PersistentVolume whose mount this Mountpoint Pod has served; undefined: none that is known. */
  readonly mounted: PvName | undefined;
}

/** WM-1. A Mountpoint Pod serves one volume in its life, whatever attachments say: its source shows the data of that volume. */
export function checkVolume({ attachments, mounted }: Known, pod: LocalMountpointPod, wanted: PvName): void {
  const assigned = volumeOf(attachments, pod);
  if (assigned === wanted && (mounted ?? wanted) === wanted) return;
  throw new DriverError("notReady", `Mountpoint Pod ${pod.name} does not belong to PersistentVolume ${wanted}`, {
    hint: "No action is needed: the controller assigns another Mountpoint Pod.",
  });
}
