/** The mounter of 2.x: a supervisor that runs mount-s3 as its child process, which reads static credentials. */
import { type Call, deadline } from "../../runtime/call.ts";
import type { LocalMountpointPod } from "../cluster/mountpoint-pods.ts";
import { legacyProfileName, staticProfile } from "../credentials/profile.ts";
import {
  currentMounter,
  type FailedStart,
  type MounterParts,
  type MounterProtocol,
} from "../source/mounter-protocol.ts";
import { retryOnChange } from "../source/retry-on-change.ts";

/** Chooses the protocol by the driver version that made the Mountpoint Pod. No other code depends on that version. */
export function protocolOf(pod: LocalMountpointPod): MounterProtocol {
  return pod.isLegacy ? mounter2x : currentMounter;
}

const mounter2x: MounterProtocol = {
  prepare: (volume) => volume.clearError(),
  // The file name is that of 2.x, because after a rollback the node plugin of 2.x renews the file of that name.
  profileFor: ({ credentials, workload, volumeId }) =>
    staticProfile(legacyProfileName(workload, volumeId), credentials),
  renewedFiles: () => ({}),
  // The supervisor closes the connection as soon as it has read the request.
  connectionEndsWithMountS3: false,
  waitForErrorText: errorFile,
};

const errorFileLimitMs = 10_000;

/** The supervisor writes the file shortly after mount-s3 exited, or never if the supervisor was killed. */
async function errorFile(call: Call, { comm }: MounterParts, { pod, volume }: FailedStart): Promise<string> {
  using limited = deadline(call, errorFileLimitMs, "the error file of mount-s3");
  const written = retryOnChange(limited, [(wake) => comm.subscribe(pod.uid, wake)], () => volume.errorText());
  return await written.catch((error: unknown) => {
    // Only the limit is ignored. Other errors, such as a symbolic link in place of the file (SE-3), are thrown.
    if (call.signal.aborted || !limited.signal.aborted) throw error;
    return "";
  });
}
