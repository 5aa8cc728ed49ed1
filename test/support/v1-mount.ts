/** A mount as 1.x made it: systemd on the host runs mount-s3, which mounts by itself, straight on the target (contract 1.12). */
import { rootAccount } from "../../lab/s3.ts";
import { pluginDir } from "../../src/node/domain/target-path.ts";
import { startMountS3 } from "./bare-mount-s3.ts";
import type { Cluster } from "./cluster.ts";
import { onNode } from "./mount-s3-process.ts";
import { kubeletDir } from "./traces.ts";

export interface V1Mount {
  readonly node: string;
  readonly bucket: string;
  readonly workload: string;
  readonly volumeId: string;
  readonly target: string;
}

export interface ProfileFiles {
  readonly profile: string;
  readonly config: string;
  readonly credentials: string;
}

/** Its keys lie on the host's disk; ends when it is unmounted. */
export async function mountAs1x(cluster: Cluster, wish: V1Mount): Promise<ProfileFiles> {
  const { node, bucket, target: directory } = wish;
  const files = profileFilesOf(wish, pluginDir(kubeletDir));
  const { profile, config, credentials } = files;
  await writeOnNode(cluster, node, config, `[profile ${profile}]\n`);
  await writeOnNode(cluster, node, credentials, credentialsOf(profile));
  const env = [`AWS_PROFILE=${profile}`, `AWS_CONFIG_FILE=${config}`, `AWS_SHARED_CREDENTIALS_FILE=${credentials}`];
  await startMountS3(cluster, { node, bucket, directory, env, options: ["--allow-delete"] });
  return files;
}

/** Named as 1.x and 2.x do. */
export function profileFilesOf(
  { workload, volumeId }: Pick<V1Mount, "workload" | "volumeId">,
  directory: string,
): ProfileFiles {
  const profile = `${workload}-${volumeId.replaceAll("/", "~")}-s3-csi`;
  return { profile, config: `${directory}/${profile}-config`, credentials: `${directory}/${profile}-credentials` };
}

/** The driver's keys as 1.x and 2.x write them. */
export function credentialsOf(profile: string): string {
  const { accessKeyId, secretAccessKey } = rootAccount;
  return `[${profile}]\naws_access_key_id=${accessKeyId}\naws_secret_access_key=${secretAccessKey}\n`;
}

export async function writeOnNode(cluster: Cluster, node: string, file: string, content: string): Promise<void> {
  await onNode(cluster, node, "sh", "-c", 'printf %s "$2" > "$1"', "write", file, content);
}
