import { s3Endpoint, s3Region } from "../../lab/s3.ts";
import type { Cluster } from "./cluster.ts";
import { onNode } from "./mount-s3-process.ts";

export interface BareMount {
  readonly node: string;
  readonly bucket: string;
  /** Made if it is not there. */
  readonly directory: string;
  /** Where the keys are: NAME=value each. */
  readonly env: readonly string[];
  /** Besides those that every mount in the lab needs. */
  readonly options?: readonly string[];
}

/** mount-s3 on a node without any driver: it mounts by itself, and ends when it is unmounted. Returns when it is mounted. */
export async function startMountS3(cluster: Cluster, mount: BareMount): Promise<void> {
  const { node, bucket, directory, env } = mount;
  const { mountS3 = "mount-s3" } = cluster.lab.programs;
  const needed = ["--allow-other", "--force-path-style", `--endpoint-url=${s3Endpoint}`, `--region=${s3Region}`];
  const options = [...needed, ...(mount.options ?? [])];
  const script = [
    'mkdir -p "$1"; target=$1; shift',
    'setsid env AWS_EC2_METADATA_DISABLED=true "$@" </dev/null >/dev/null 2>&1 &',
    'until grep -qF " $target " /proc/self/mountinfo; do kill -0 $! || exit 1; done',
  ].join("\n");
  await onNode(cluster, node, "sh", "-c", script, "start", directory, ...env, mountS3, bucket, directory, ...options);
}
