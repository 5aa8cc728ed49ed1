/** How mount-s3 gets its keys: from files in the Mountpoint Pod's memory volume, and never from its environment. */
import { comm, type PodUid, type VolumeId } from "../../core/names.ts";
import type { Credentials } from "../../s3/credentials.ts";

/** Name → content of the files in `credentials/`, and the variables that lead mount-s3 to them. */
export interface Profile {
  readonly files: Readonly<Record<string, string>>;
  readonly env: Readonly<Record<string, string>>;
}

/** Keys, and for whom they are used first. */
export interface KeysInUse {
  readonly keys: Credentials;
  readonly workload: PodUid;
  readonly volumeId: VolumeId;
}

/** scripts/print-credentials.sh, as it lies in the image. */
export const printCredentials = "/opt/s3-csi/print-credentials";

const name = "s3-csi";
const configEnd = "-config";
const credentialsEnd = "-credentials";
const keysFile = `${name}-keys`;
const directory = `${comm.containerPath}/${comm.credentials}`;

/** The paths of files that are not there are given, too: it keeps mount-s3 from looking elsewhere. */
function environmentOf(profile: string): Readonly<Record<string, string>> {
  return {
    AWS_PROFILE: profile,
    AWS_CONFIG_FILE: `${directory}/${profile}${configEnd}`,
    AWS_SHARED_CREDENTIALS_FILE: `${directory}/${profile}${credentialsEnd}`,
  };
}

/**
 * mount-s3 runs the script again 30 s after it got keys, so a changed file reaches a running mount. The command itself
 * is read only once, which is why it never changes.
 */
export function processProfile(keys: Credentials): Profile {
  const files = {
    [`${name}${configEnd}`]: `[profile ${name}]\ncredential_process = ${printCredentials} ${directory}/${keysFile}\n`,
    [keysFile]: `${jsonMembers(keys)}\n`,
  };
  return { files, env: environmentOf(name) };
}

/** As 1.x and 2.x name it: after the workload that mounted first. */
export function legacyProfileName(workload: PodUid, volumeId: VolumeId): string {
  return `${workload}-${volumeId.replaceAll("/", "~")}-${name}`;
}

/** For mount-s3 of 1.x and 2.x, which have no script: it reads the file again after 15 minutes. */
export function staticProfile(profile: string, keys: Credentials): Profile {
  const files = {
    [`${profile}${configEnd}`]: `[profile ${profile}]\n`,
    [`${profile}${credentialsEnd}`]: credentialsOf(profile, keys),
  };
  return { files, env: environmentOf(profile) };
}

/** New content for those among these files that hold keys in the way of 2.x, whoever wrote them. */
export function renewedFiles(names: readonly string[], keys: Credentials): Profile["files"] {
  const profiles = names.flatMap((file) => (isCredentials(file) ? [file.slice(0, -credentialsEnd.length)] : []));
  return Object.fromEntries(profiles.map((profile) => [`${profile}${credentialsEnd}`, credentialsOf(profile, keys)]));
}

function isCredentials(file: string): boolean {
  return file.endsWith(`-${name}${credentialsEnd}`) && !file.startsWith(".");
}

/** The workload that a file of this kind was written for, by its name; undefined for every other file. */
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

/** One line, without the braces: the script puts them around it, together with the expiry that only it can know. */
function jsonMembers({ accessKeyId, secretAccessKey, sessionToken }: Credentials): string {
  const answer = {
    AccessKeyId: accessKeyId.reveal(),
    SecretAccessKey: secretAccessKey.reveal(),
    SessionToken: sessionToken?.reveal(),
  };
  return JSON.stringify(answer).slice(1, -1);
}
