/**
 * The kernel's mount table in the node plugin's terms: sources, targets and the Mountpoint Pods behind them. A table is an
 * immutable snapshot: callers must read a new one after each await, and must not await between reading it and acting on it.
 */

import { mountDevice, type PodName, type PodUid } from "../../core/names.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import { isCovered, type Mount, mountAt, mountsOfDevice } from "../../linux/mounts/mountinfo.ts";
import { sourcePath, sourcesDir, targetAt, targetOfPart } from "../domain/target-path.ts";

export class MountTable {
  readonly all: readonly Mount[];
  readonly #kubeletDir: string;

  constructor(all: readonly Mount[], kubeletDir: string) {
    this.all = all;
    this.#kubeletDir = kubeletDir;
  }

  /** The mount that a path look-up reaches, whatever it is. */
  at(path: string): Mount | undefined {
    return mountAt(this.all, path);
  }

  /** The mount that a path look-up reaches, if mount-s3 serves it. */
  oursAt(path: string): Mount | undefined {
    const mount = this.at(path);
    return mount !== undefined && isOurs(mount) ? mount : undefined;
  }

  /** The FUSE mount that a Mountpoint Pod serves, or served before it died. */
  source(name: PodName): Mount | undefined {
    return this.oursAt(sourcePath(this.#kubeletDir, name));
  }

  /** Mountpoint Pods at whose source something is mounted. */
  get sourceNames(): readonly PodName[] {
    return this.all.flatMap((mount) => this.sourceNameOf(mount) ?? []);
  }

  /** The Mountpoint Pod at whose source a mount is; undefined for a mount that is at no source. */
  sourceNameOf({ mountPoint }: Pick<Mount, "mountPoint">): PodName | undefined {
    const prefix = `${sourcesDir(this.#kubeletDir)}/`;
    return mountPoint.startsWith(prefix) ? (mountPoint.slice(prefix.length) as PodName) : undefined;
  }

  /** The Mountpoint Pod whose source has the same device; undefined if the source is unmounted, or for a mount of the driver 1.x. */
  podBehind(mount: Mount): PodName | undefined {
    return this.ofDevice(mount.deviceId).flatMap((other) => this.sourceNameOf(other) ?? [])[0];
  }

  /**
   * Mounts through which workloads use a source: targets, and bind mounts of sub-paths. Only directories of Pods count: in our
   * container the source itself shows twice, because the plugin's directory is mounted a second time for the CSI socket.
   */
  binds(source: Mount): readonly Mount[] {
    return this.ofDevice(source.deviceId).filter((mount) => isOurs(mount) && this.workloadOf(mount) !== undefined);
  }

  /** Every mount of one FUSE file system. */
  ofDevice(deviceId: DeviceId): readonly Mount[] {
    return mountsOfDevice(this.all, deviceId);
  }

  /** The workload in whose directory a mount is. */
  workloadOf(mount: Pick<Mount, "mountPoint">): PodUid | undefined {
    return workloadAt(this.#kubeletDir, mount);
  }

  /**
   * Targets that show a device, or of which a container has a sub-path of it. Excluded are targets under another mount, and mounts in
   * directories of Pods that are not targets.
   */
  targetsOfDevice(deviceId: DeviceId): readonly string[] {
    const paths = this.ofDevice(deviceId)
      .filter((mount) => isOurs(mount) && this.workloadOf(mount) !== undefined && !this.isCovered(mount))
      .map((mount) => this.targetOf(mount));
    return [...new Set(paths)].filter((path) => targetAt(this.#kubeletDir, path) !== undefined);
  }

  /** Whether another mount covers this one at the same path. */
  isCovered(mount: Mount): boolean {
    return isCovered(this.all, mount);
  }

  /** Targets that have a mount of the driver, or of which a container has a sub-path. */
  get publishedTargets(): ReadonlySet<string> {
    return new Set(this.all.filter(isOurs).map((mount) => this.targetOf(mount)));
  }

  /** The target of which a mount shows a sub-path; the mount point itself for any other mount. */
  targetOf({ mountPoint }: Pick<Mount, "mountPoint">): string {
    return targetOfPart(this.#kubeletDir, mountPoint) ?? mountPoint;
  }
}

/** Whether mount-s3 serves the mount, whichever version of the driver made it. */
export function isOurs(mount: Mount): boolean {
  return mount.fsType === "fuse" && mount.device === mountDevice;
}

/** The workload in whose directory a mount point is. */
export function workloadAt(kubeletDir: string, { mountPoint }: Pick<Mount, "mountPoint">): PodUid | undefined {
  const prefix = `${kubeletDir}/pods/`;
  if (!mountPoint.startsWith(prefix)) return undefined;
  return mountPoint.slice(prefix.length).split("/", 1)[0] as PodUid;
}
