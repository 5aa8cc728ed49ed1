/** Our mounts in the kernel's table. */
import { mountDevice, type PodName, type PodUid } from "../core/names.ts";
import { type Mount, mountsOfFuse } from "../linux/mountinfo.ts";
import { sourcesDir } from "./domain/target-path.ts";

/** A mount that mount-s3 serves, by whoever it was made. */
export function isOurs(mount: Mount): boolean {
  return mount.fsType === "fuse" && mount.device === mountDevice;
}

/** The Mountpoint Pod behind a mount: the one whose source is on the same device. */
export function mountpointPodBehind(mounts: readonly Mount[], kubeletDir: string, mount: Mount): PodName | undefined {
  const prefix = `${sourcesDir(kubeletDir)}/`;
  const source = mountsOfFuse(mounts, mount.minor).find(({ mountPoint }) => mountPoint.startsWith(prefix));
  return source?.mountPoint.slice(prefix.length) as PodName | undefined;
}

/** The workload in whose directory a mount is, if it is in one. */
export function workloadAt(kubeletDir: string, { mountPoint }: Pick<Mount, "mountPoint">): PodUid | undefined {
  const prefix = `${kubeletDir}/pods/`;
  if (!mountPoint.startsWith(prefix)) return undefined;
  return mountPoint.slice(prefix.length).split("/", 1)[0] as PodUid;
}

/**
 * Mounts through which workloads use a source. Only directories of Pods count: in our container the source itself
 * shows twice, because the plugin's directory is mounted a second time for the CSI socket.
 */
export function bindsOf(mounts: readonly Mount[], kubeletDir: string, source: Mount): readonly Mount[] {
  const prefix = `${kubeletDir}/pods/`;
  return mountsOfFuse(mounts, source.minor).filter(({ mountPoint }) => mountPoint.startsWith(prefix));
}
