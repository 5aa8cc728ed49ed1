/**
 * How mount-s3 gets its keys: a profile whose `credential_process` prints them from a file in the Mountpoint Pod's memory
 * volume. mount-s3 runs it again 30 s after each use, so a changed file reaches a running mount; keys are in no
 * environment and no argument.
 */
import { comm } from "../../core/names.ts";
import type { Keys } from "./keys.ts";

/** scripts/print-credentials.sh, as it lies in the image. */
export const printCredentials = "/opt/s3-csi/print-credentials";

const profile = "s3-csi";
const configFile = "s3-csi-config";
const keysFile = "s3-csi-keys";
const directory = `${comm.containerPath}/${comm.credentials}`;

/** Name → content of every file in `credentials/`. The first never changes: mount-s3 reads the command only once. */
export function credentialFiles(keys: Keys): Readonly<Record<string, string>> {
  return {
    [configFile]: `[profile ${profile}]\ncredential_process = ${printCredentials} ${directory}/${keysFile}\n`,
    [keysFile]: `${jsonMembers(keys)}\n`,
  };
}

/** Points mount-s3 to the profile. There is no credentials file; naming it keeps mount-s3 from looking elsewhere. */
export const profileEnvironment: Readonly<Record<string, string>> = {
  AWS_PROFILE: profile,
  AWS_CONFIG_FILE: `${directory}/${configFile}`,
  AWS_SHARED_CREDENTIALS_FILE: `${directory}/s3-csi-credentials`,
};

/** One line, without the braces: the script puts them around it, together with the expiry that only it can know. */
function jsonMembers({ accessKeyId, secretAccessKey, sessionToken }: Keys): string {
  const answer = {
    AccessKeyId: accessKeyId.reveal(),
    SecretAccessKey: secretAccessKey.reveal(),
    SessionToken: sessionToken?.reveal(),
  };
  return JSON.stringify(answer).slice(1, -1);
}
