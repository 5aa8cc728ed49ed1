/** How the node plugin works with the mounter of a Mountpoint Pod, where versions differ. The wire format is the same for all. */
import type { Call } from "../../runtime/call.ts";
import type { Credentials } from "../../s3/credentials.ts";
import type { LocalMountpointPod, MountpointPods } from "../cluster/mountpoint-pods.ts";
import { type CredentialsInUse, type Profile, processProfile } from "../credentials/profile.ts";
import type { CommVolume, CommVolumes } from "../mounts/comm-volume.ts";

/** A mount-s3 that exited before it served. */
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
  /** Prepares the volume for a new mount request. Called before the request is sent. */
  prepare(volume: CommVolume): void;
  /** The credential files and environment of a mount-s3 that is about to start. */
  profileFor(use: CredentialsInUse): Profile;
  /** Credential files that a running mount-s3 reads again, in addition to those that a node plugin of 2.x wrote. */
  renewedFiles(credentials: Credentials): Profile["files"];
  /** Whether the connection stays open until mount-s3 exits, so that its end reports the death of mount-s3. */
  readonly connectionEndsWithMountS3: boolean;
  /** What mount-s3 printed before it exited; empty if that is not known within the limit. */
  waitForErrorText(call: Call, parts: MounterParts, failed: FailedStart): Promise<string>;
}

/** The mounter of this version calls execve: it becomes mount-s3, and connection and container log are those of mount-s3. */
export const currentMounter: MounterProtocol = {
  prepare: () => undefined,
  profileFor: ({ credentials }) => processProfile(credentials),
  renewedFiles: (credentials) => processProfile(credentials).files,
  connectionEndsWithMountS3: true,
  waitForErrorText: (call, { mountpointPods }, { pod, startedAt }) =>
    mountpointPods.waitForTerminationMessage(call, pod.name, startedAt),
};
