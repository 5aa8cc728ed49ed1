/** mount-s3 reads its credentials from files in the communication volume, never from its environment. */
import { comm, type PodUid, type VolumeId } from "../../core/names.ts";
import type { Credentials } from "../../s3/credentials.ts";

/** Names and contents of the files in `credentials/`, and the environment variables that name them. */
export interface Profile {
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** Keys, and the workload and volume that mounted first. */
export interface CredentialsInUse {
  readonly credentials: Credentials;
  readonly workload: PodUid;
  readonly volumeId: VolumeId;
}

/** Path of scripts/print-credentials.sh in the image. */
export const printCredentials = "/opt/s3-csi/print-credentials";

const name = "s3-csi";
const configEnd = "-config";
const credentialsEnd = "-credentials";
const keysFile = `${name}-keys`;
const directory = `${comm.containerPath}/${comm.credentials}`;

/** Contains paths of files that do not exist, too, so that mount-s3 does not read its default paths. */
function environmentOf(profile: string): Readonly<Record<string, string>> {
  return {
    AWS_PROFILE: profile,
    AWS_CONFIG_FILE: `${directory}/${profile}${configEnd}`,
    AWS_SHARED_CREDENTIALS_FILE: `${directory}/${profile}${credentialsEnd}`,
  };
}

/**
 * mount-s3 runs the script again 30 s after it got credentials, so a changed file takes effect in a running mount. mount-s3 reads the
 * command itself only once, so the command never changes.
 */
export function processProfile(credentials: Credentials): Profile {
  const files = {
    [`${name}${configEnd}`]: `[profile ${name}]\ncredential_process = ${printCredentials} ${directory}/${keysFile}\n`,
    [keysFile]: `${jsonMembers(credentials)}\n`,
  };
  return { files, env: environmentOf(name) };
}

/** The profile name of 1.x and 2.x, which contains the workload that mounted first. */
export function legacyProfileName(workload: PodUid, volumeId: VolumeId): string {
  return `${workload}-${volumeId.replaceAll("/", "~")}-${name}`;
}

/** For images of 1.x and 2.x, which do not contain the script. mount-s3 reads the file again after 15 minutes. */
export function staticProfile(profile: string, credentials: Credentials): Profile {
  const files = {
    [`${profile}${configEnd}`]: `[profile ${profile}]\n`,
    [`${profile}${credentialsEnd}`]: credentialsOf(profile, credentials),
  };
  return { files, env: environmentOf(profile) };
}

/** New content for the credential files of 2.x among these files. */
export function renewedFiles(names: readonly string[], credentials: Credentials): Profile["files"] {
  const profiles = names.flatMap((file) => (isCredentials(file) ? [file.slice(0, -credentialsEnd.length)] : []));
  return Object.fromEntries(
    profiles.map((profile) => [`${profile}${credentialsEnd}`, credentialsOf(profile, credentials)]),
  );
}

function isCredentials(file: string): boolean {
  return file.endsWith(`-${name}${credentialsEnd}`) && !file.startsWith(".");
}

/** The workload in the name of a credential file of 1.x or 2.x; undefined for any other file. */
export function workloadOfFile(file: string): PodUid | undefined {
  const [, workload] =
    /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-.+-s3-csi-(?:config|credentials)$/.exec(file) ?? [];
  return workload as PodUid | undefined;
}

function credentialsOf(profile: string, { accessKeyId, secretAccessKey, sessionToken }: Credentials): string {
  const lines = [
    `[${profile}]`,
    `aws_access_key_id=${accessKeyId.reveal()}`,
    `aws_secret_access_key=${secretAccessKey.reveal()}`,
    ...(sessionToken === undefined ? [] : [`aws_session_token=${sessionToken.reveal()}`]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

/** One line without braces: the script adds the braces and the expiration, which depends on the time at which it runs. */
function jsonMembers({ accessKeyId, secretAccessKey, sessionToken }: Credentials): string {
  const answer = {
    AccessKeyId: accessKeyId.reveal(),
    SecretAccessKey: secretAccessKey.reveal(),
    SessionToken: sessionToken?.reveal(),
  };
  return JSON.stringify(answer).slice(1, -1);
}
