/** The mounter of 2.x: a supervisor that runs mount-s3 as its child, and reads static credentials. */
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

/** The one place that chooses by the version of the driver that made a Mountpoint Pod. */
export function protocolOf(pod: LocalMountpointPod): MounterProtocol {
  return pod.isLegacy ? mounter2x : currentMounter;
}

const mounter2x: MounterProtocol = {
  prepare: (volume) => volume.clearError(),
  // Named as 2.x does: after a rollback its node plugin renews the file of that name.
  profileFor: ({ keys, workload, volumeId }) => staticProfile(legacyProfileName(workload, volumeId), keys),
  renewedFiles: () => ({}),
  // It closes the connection as soon as it has read the request.
  connectionEndsWithMountS3: false,
  waitForErrorText: errorFile,
};

const errorFileLimitMs = 10_000;

/** The supervisor writes the file a moment after mount-s3 ended, or never, if it was killed itself. */
async function errorFile(call: Call, { comm }: MounterParts, { pod, volume }: FailedStart): Promise<string> {
  using limited = deadline(call, errorFileLimitMs, "the last words of mount-s3");
  const written = retryOnChange(limited, [(wake) => comm.subscribe(pod.uid, wake)], () => volume.errorText());
  return await written.catch((error: unknown) => {
    // What is not due to our limit is an error of its own: a file that is a link, for one (SE-3).
    if (call.signal.aborted || !limited.signal.aborted) throw error;
    return "";
  });
}
