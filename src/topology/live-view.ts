/** The live options of a volume, as they are shown: wanted by its annotations, and in use by a Mountpoint Pod. */
import { DriverError } from "../core/errors.ts";
import { liveIn, liveOptionsOf } from "../core/live/live-options.ts";
import { isProxyAttribute, shownProxy } from "../core/volume/proxy.ts";
import type { PersistentVolume } from "./objects.ts";
import type { LiveView, MountpointPodView, VolumeView } from "./topology.ts";

type Annotations = Readonly<Record<string, string>>;

/** undefined: the volume has no annotation of this kind. */
export function liveViewOf({ metadata, spec }: PersistentVolume): LiveView | undefined {
  const { annotations = {} } = metadata;
  if (Object.keys(liveIn(annotations)).length === 0) return undefined;
  const { csi, mountOptions = [] } = spec;
  try {
    const live = liveOptionsOf({ annotations, attributes: csi?.volumeAttributes ?? {}, mountOptions });
    return { wanted: shownLive(live.annotations), refused: live.refusals };
  } catch (error) {
    if (error instanceof DriverError) return undefined; // the volume is refused as it is, which is shown
    throw error;
  }
}

/** `--max-threads=32`, `cache=emptyDir` */
export function shownLive(annotations: Annotations = {}): readonly string[] {
  const { mountOptions = "", ...attributes } = liveIn(annotations);
  const shown = Object.entries(attributes).map(
    ([name, value]) => `${name}=${isProxyAttribute(name) ? shownProxy(value) : value}`,
  );
  return [...mountOptions.split(",").filter(Boolean), ...shown].toSorted();
}

/** What a Mountpoint Pod runs with, and how it gets what the volume wants; empty: that is the same. */
export function liveDifference({ name, live }: VolumeView, pod: MountpointPodView): string {
  const inUse = (pod.live ?? []).join(", ");
  // One that ends is not moved any more.
  if (pod.ending || inUse === (live?.wanted ?? []).join(", ")) return "";
  return `${inUse || "none"}, other than those of the volume until it is moved: kubectl s3 move ${name}`;
}
