/** Warnings about the settings of a volume, for the first workload that its Mountpoint Pod serves, and on the claims of the volume. */
import type { EventRecorder } from "../../kube/events.ts";
import type { Call } from "../../runtime/call.ts";
import { type MountpointPodConfig, mountpointPodWarnings } from "../domain/mountpoint-pod/mountpoint-pod.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { View } from "../observe/view.ts";
import { type WarnedPod, warnOfVolume } from "./warn.ts";

interface Warning {
  readonly events: Pick<EventRecorder, "record">;
  readonly view: Pick<View, "claims">;
  readonly mountpointPods: MountpointPodConfig;
}

/** The Mountpoint Pod is created, or has been taken from those that wait, in spite of them. */
export function warnOfSettings(call: Call, cluster: Warning, workload: WarnedPod, settings: S3Volume): void {
  const { name: volume, fallback } = settings;
  for (const message of mountpointPodWarnings(cluster.mountpointPods, settings)) {
    warnOfVolume(call, cluster, { workload, volume }, { reason: "VolumeQuestionable", message });
  }
  if (fallback === undefined) return;
  const message = `PersistentVolume ${volume} is mounted with the keys of the driver: ${fallback}`;
  const fix =
    "Name both a provisioner and a node-publish Secret in its StorageClass; chart value s3CredentialSecret.fallback=false refuses such volumes.";
  warnOfVolume(call, cluster, { workload, volume }, { reason: "DriverCredentialsUsed", message, fix });
}
