/** Paths on a node, as pure functions of kubelet's root directory. */
import { normalize } from "node:path/posix";
import { DriverError } from "../../core/errors.ts";
import { comm, driverName, type PodName, type PodUid, type PvName } from "../../core/names.ts";

/** The target path of a volume in one workload, parsed. */
export interface Target {
  readonly workload: PodUid;
  readonly persistentVolume: PvName;
}

/** NodeUnpublishVolume names neither the Pod nor the PersistentVolume: both are parsed from the path. */
export function parseTargetPath(kubeletDir: string, target: string): Target {
  const parsed = targetAt(kubeletDir, target);
  if (parsed !== undefined) return parsed;
  const root = withoutEndSlash(normalize(kubeletDir));
  throw new DriverError("invalid", `target path ${target} is not a volume of a Pod under ${root}`, {
    hint: `Set the chart value node.kubeletPath to the root directory of kubelet (its --root-dir); it is ${root} now.`,
  });
}

/** The target of a path; undefined for a path that is not a target. */
export function targetAt(kubeletDir: string, target: string): Target | undefined {
  const root = withoutEndSlash(normalize(kubeletDir));
  const path = withoutEndSlash(normalize(target));
  const inside = path.startsWith(`${root}/`) ? path.slice(root.length) : "";
  const [, workload, persistentVolume] =
    /^\/pods\/([^/]+)\/volumes\/kubernetes\.io~csi\/([^/]+)\/mount$/.exec(inside) ?? [];
  if (workload === undefined || persistentVolume === undefined) return undefined;
  return { workload: workload as PodUid, persistentVolume: persistentVolume as PvName };
}

export function targetPath(kubeletDir: string, { workload, persistentVolume }: Target): string {
  return normalize(`${kubeletDir}/pods/${workload}/volumes/kubernetes.io~csi/${persistentVolume}/mount`);
}

/** The target to which a bind mount below `volume-subpaths` belongs; undefined for any other path. */
export function targetOfPart(kubeletDir: string, path: string): string | undefined {
  const root = `${withoutEndSlash(normalize(kubeletDir))}/pods/`;
  const [, workload, persistentVolume] = /^([^/]+)\/volume-subpaths\/([^/]+)\/./.exec(path.slice(root.length)) ?? [];
  if (!path.startsWith(root) || workload === undefined || persistentVolume === undefined) return undefined;
  return targetPath(kubeletDir, {
    workload: workload as PodUid,
    persistentVolume: persistentVolume as PvName,
  });
}

/** The directory of the CSI socket and of all other files of the driver on the host. */
export function pluginDir(kubeletDir: string): string {
  return normalize(`${kubeletDir}/plugins/${driverName}`);
}

/** The directory of all sources of this node. */
export function sourcesDir(kubeletDir: string): string {
  return `${pluginDir(kubeletDir)}/mnt`;
}

/** A tmpfs that outlives the node plugin. It holds the mount records, credentials included. */
export function memoryDir(kubeletDir: string): string {
  return `${pluginDir(kubeletDir)}/memory`;
}

/** The FUSE mount that one Mountpoint Pod serves. */
export function sourcePath(kubeletDir: string, mountpointPod: PodName): string {
  return `${sourcesDir(kubeletDir)}/${mountpointPod}`;
}

/** The communication volume (a memory-backed emptyDir) of a Mountpoint Pod, as a path on the host. */
export function commDir(kubeletDir: string, mountpointPod: PodUid): string {
  return normalize(`${kubeletDir}/pods/${mountpointPod}/volumes/kubernetes.io~empty-dir/${comm.volume}`);
}

function withoutEndSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}
