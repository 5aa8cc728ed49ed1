/**
 * Pure: which lines of a log are about a volume, or about one mount of it. Every line of the driver that is about a mount has the name of its
 * Mountpoint Pod in the field `mountpointPod`; lines that are about a volume as a whole have `volume` (the PersistentVolume) or `volumeId`.
 */

import type { MountpointPodView, VolumeView } from "../../topology/topology.ts";
import { namesOf } from "../select.ts";

export type LineFilter = (text: string) => boolean;

/** Also lines of other programs that name the volume, one of its Pods, or its attachment. */
export function linesOfVolumes(volumes: readonly VolumeView[]): LineFilter {
  // A bucket may be called "data", so only names that are long or unique in the cluster count.
  const names = volumes.flatMap((volume) => namesOf(volume).filter((name) => name !== volume.bucket));
  return (text) => names.some((name) => text.includes(name));
}

/** Lines about this mount, and those about its volume that are about no other mount. */
export function linesOfMount(volume: VolumeView, { name }: MountpointPodView): LineFilter {
  return (text) => {
    const ids = idsIn(text);
    if (ids === undefined) return text.includes(name);
    if (ids.mountpointPods.length > 0) return ids.mountpointPods.includes(name);
    return ids.volume === volume.name || ids.volumeId === volume.handle;
  };
}

interface Ids {
  readonly mountpointPods: readonly unknown[];
  readonly volume: unknown;
  readonly volumeId: unknown;
}

/** Undefined: not a line of the driver. */
function idsIn(text: string): Ids | undefined {
  try {
    const { mountpointPod = [], volume, volumeId } = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return { mountpointPods: [mountpointPod].flat(), volume, volumeId };
  } catch {
    return undefined;
  }
}

/** The mount that the user means; undefined: the name is not that of a Mountpoint Pod. */
export function mountNamed(
  volumes: readonly VolumeView[],
  name: string,
): { readonly volume: VolumeView; readonly pod: MountpointPodView } | undefined {
  for (const volume of volumes)
    for (const { mountpointPods } of volume.attachments) {
      const pod = mountpointPods.find((each) => each.name === name);
      if (pod !== undefined) return { volume, pod };
    }
  return undefined;
}
