/** How mount-s3 gets its keys: from files in the Mountpoint Pod's memory volume, and never from its environment. */
import { comm } from "../../core/names.ts";
import type { Keys } from "./keys.ts";

/** Name → content of the files in `credentials/`, and the variables that lead mount-s3 to them. */
export interface Profile {
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** scripts/print-credentials.sh, as it lies in the image. */
export const printCredentials = "/opt/s3-csi/print-credentials";

const name = "s3-csi";
const configFile = `${name}-config`;
const credentialsFile = `${name}-credentials`;
const keysFile = `${name}-keys`;
const directory = `${comm.containerPath}/${comm.credentials}`;

/** The paths of files that are not there are given, too: it keeps mount-s3 from looking elsewhere. */
const env = {
  AWS_PROFILE: name,
  AWS_CONFIG_FILE: `${directory}/${configFile}`,
  AWS_SHARED_CREDENTIALS_FILE: `${directory}/${credentialsFile}`,
};

/**
 * mount-s3 runs the script again 30 s after it got keys, so a changed file reaches a running mount. The command itself
 * is read only once, which is why it never changes.
 */
export function processProfile(keys: Keys): Profile {
  const files = {
    [configFile]: `[profile ${name}]\ncredential_process = ${printCredentials} ${directory}/${keysFile}\n`,
    [keysFile]: `${jsonMembers(keys)}\n`,
  };
  return { files, env };
}

/** For images of 2.x, which have no script: mount-s3 reads the file again after 15 minutes. */
export function staticProfile({ accessKeyId, secretAccessKey, sessionToken }: Keys): Profile {
  const lines = [
    `[${name}]`,
    `aws_access_key_id=${accessKeyId.reveal()}`,
    `aws_secret_access_key=${secretAccessKey.reveal()}`,
    ...(sessionToken === undefined ? [] : [`aws_session_token=${sessionToken.reveal()}`]),
  ];
  const files = { [configFile]: `[profile ${name}]\n`, [credentialsFile]: lines.map((line) => `${line}\n`).join("") };
  return { files, env };
}

/** One line, without the braces: the script puts them around it, together with the expiry that only it can know. */
function jsonMembers({ accessKeyId, secretAccessKey, sessionToken }: Keys): string {
  const answer = {
    AccessKeyId: accessKeyId.reveal(),
    SecretAccessKey: secretAccessKey.reveal(),
    SessionToken: sessionToken?.reveal(),
  };
  return JSON.stringify(answer).slice(1, -1);
}
