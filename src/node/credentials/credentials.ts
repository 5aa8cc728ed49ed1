/** Credentials belong to the Mountpoint Pod, not to the workload that mounted first (MP-3). */
import { DriverError } from "../../core/errors.ts";
import type { Call } from "../../runtime/call.ts";
import type { Credentials } from "../../s3/credentials.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { protocolOf } from "../legacy/mounter-2x.ts";
import type { CommVolume, CommVolumes } from "../mounts/comm-volume.ts";
import type { PublishIntent } from "../publish/publish-request.ts";
import type { DriverCredentials } from "./driver-credentials.ts";
import { renewedFiles } from "./profile.ts";

export interface MountCredentials {
  readonly driverCredentials: DriverCredentials;
  readonly comm: CommVolumes;
}

/** The volume's own credentials, else those of the driver. */
export async function credentialsFor(
  call: Call,
  { driverCredentials }: Pick<MountCredentials, "driverCredentials">,
  volumeCredentials: Credentials | undefined,
): Promise<Credentials> {
  return volumeCredentials ?? (await driverCredentials.get(call));
}

/**
 * Renews all credential files. A mount-s3 that a node plugin of 2.x mounted reads the file that is named after the workload that
 * mounted first, and that workload is unknown. During an upgrade such a mount-s3 may run in a Mountpoint Pod of this version.
 */
function renewCredentials(volume: CommVolume, pod: LocalMountpointPod, credentials: Credentials): void {
  const legacyFiles = renewedFiles(volume.credentialFiles(), credentials);
  volume.writeCredentials({ ...legacyFiles, ...protocolOf(pod).renewedFiles(credentials) });
}

/**
 * Writes the current credentials to a running Mountpoint Pod. Makes no API call: unknown credentials of the driver are written when
 * they arrive.
 */
export function refreshCredentials(
  { comm, driverCredentials }: MountCredentials,
  pod: LocalMountpointPod,
  volumeCredentials: Credentials | undefined,
): void {
  const credentials = volumeCredentials ?? driverCredentials.known();
  if (credentials === undefined) return;
  using volume = comm.open(pod.uid);
  if (volume !== undefined) renewCredentials(volume, pod, credentials);
}

const driverIdentity = "driver";

export function usesDriverCredentials(pod: LocalMountpointPod): boolean {
  return pod.identity === driverIdentity;
}

/** Keys of one identity must never reach a mount of another (SE-6). Mountpoint Pods of 2.x do not name their identity. */
export function checkIdentity(pod: LocalMountpointPod, intent: PublishIntent): void {
  if (pod.identity === undefined || usesDriverCredentials(pod) === (intent.credentials === undefined)) return;
  if (intent.credentials === undefined && intent.attributes.authenticationSource === "secret")
    throw noCredentialsIn(pod.identity);
  const wants = intent.credentials === undefined ? "those of the driver" : "keys of its own";
  throw new DriverError(
    "notReady",
    `Mountpoint Pod ${pod.name} uses the keys of "${pod.identity}", the volume ${wants}`,
    {
      hint: "Check that the Secret named by nodePublishSecretRef holds keys, then start the Pod anew.",
    },
  );
}

/** The Secret exists: kubelet does not call NodePublishVolume without it. */
function noCredentialsIn(identity: string): DriverError {
  const secret = identity.replace(/^secret:/, "");
  return new DriverError("invalid", `access_key_id in Secret ${secret} is missing or empty`, {
    hint: "It is named by nodePublishSecretRef: put access_key_id and secret_access_key into it. The keys of the driver do not stand in for it.",
  });
}
