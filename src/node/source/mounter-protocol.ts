/** How the node plugin works with the mounter of a Mountpoint Pod. The wire format is the same for all; this is what differs. */
import type { Call } from "../../runtime/call.ts";
import type { Credentials } from "../../s3/credentials.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import { type KeysInUse, type Profile, processProfile } from "../credentials/profile.ts";
import type { CommVolume, CommVolumes } from "../mounts/comm-volume.ts";

/** A mount-s3 that ended before it served. */
export interface FailedStart {
  readonly pod: LocalMountpointPod;
  readonly volume: CommVolume;
  readonly startedAt: Date;
}

export interface MounterParts {
  readonly comm: CommVolumes;
  readonly mountpointPods: MountpointPods;
}

export interface MounterProtocol {
  /** Called before a request is sent. */
  prepare(volume: CommVolume): void;
  /** Where a mount-s3 that is about to start finds its credentials. */
  profileFor(use: KeysInUse): Profile;
  /** Files that a running mount-s3 reads again, beside those of a node plugin of 2.x. */
  renewedFiles(keys: Credentials): Profile["files"];
  /** Whether the kernel closes the connection when mount-s3 ends, and nobody else does. */
  readonly connectionEndsWithMountS3: boolean;
  /** What mount-s3 printed before it ended; empty if that is not known in time. */
  waitForErrorText(call: Call, parts: MounterParts, failed: FailedStart): Promise<string>;
}

/** Of this version: the mounter becomes mount-s3, so that the connection and the container's log are those of mount-s3. */
export const currentMounter: MounterProtocol = {
  prepare: () => undefined,
  profileFor: ({ keys }) => processProfile(keys),
  renewedFiles: (keys) => processProfile(keys).files,
  connectionEndsWithMountS3: true,
  waitForErrorText: (call, { mountpointPods }, { pod, startedAt }) =>
    mountpointPods.waitForTerminationMessage(call, pod.name, startedAt),
};
