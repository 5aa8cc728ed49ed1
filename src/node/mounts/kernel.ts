/** The kernel interface of the node plugin. Only `probe`, which has a limit, and `hasVanished` wait for mount-s3. */

import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import type { PidNamespace } from "../../core/volume/pid-namespace.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import { bind, bindReadOnly, mountFuse, mountFuseHidingPids, openFuse, unmount } from "../../linux/fuse/fuse.ts";
import { abortConnection } from "../../linux/fuse/fusectl.ts";
import { type Health, Prober } from "../../linux/fuse/probe.ts";
import { MountChanges } from "../../linux/mounts/mount-changes.ts";
import { type Mount, mountTable } from "../../linux/mounts/mountinfo.ts";
import { isDeviceForRuntime } from "../../linux/mounts/runtime-view.ts";
import { hasVanished } from "../../linux/mounts/vanished-root.ts";
import { type ContainerProgram, cpuTimeNs, podsWithProcesses } from "../../linux/process/processes.ts";
import type { Call } from "../../runtime/call.ts";
import { unlessErrno } from "../../runtime/errno.ts";

export interface Kernel {
  mounts(): readonly Mount[];
  /** Whether new containers find this FUSE file system at a path; undefined if the host's mounts are not visible. */
  isOnNode(path: string, deviceId: DeviceId): boolean | undefined;
  /** Calls the listener after every mount and unmount in the own mount namespace. */
  onMountChange(listener: () => void): Disposable;
  /** Sends one request to the server of a mount. Resolves to "hung" at the limit. */
  probe(call: Call, mountPoint: string, limitMs: number): Promise<Health>;
  openFuse(): Descriptor;
  /** `pids`: the pid namespace in which mount-s3 sees the ids of calling processes. "host" requires that this process is in it. */
  mountFuse(device: Descriptor, source: string, pids: PidNamespace): void;
  bind(source: string, target: string): void;
  bindReadOnly(source: string, target: string): void;
  /** Unmounts the top mount; false if there is none. */
  unmount(path: string): boolean;
  /** CPU time of a program in a Pod; undefined if its process is not visible. */
  cpuTimeNs(of: ContainerProgram): number | undefined;
  /** UIDs of Pods with a running process; undefined if the host's processes are not visible. */
  podsWithProcesses(): ReadonlySet<string> | undefined;
  /** Whether the root of a mount was deleted. Sends a request to the server of the mount, which may take long. */
  hasVanished(mountPoint: string): Promise<boolean>;
  /** Aborts a FUSE connection: every request fails, and unfinished uploads are lost. */
  abortFuse(deviceId: DeviceId): void;
  /** Makes a directory and its parents. The path must not be a mount of mount-s3: mkdir would send it a request. */
  makeDirectory(path: string): void;
  /** Removes an empty directory; throws ENOTEMPTY for others, which may contain files of users. False if there is none. */
  removeDirectory(path: string): boolean;
  /** Entries of a directory, without a stat of any of them; empty if the directory does not exist. */
  namesIn(directory: string): readonly string[];
}

export interface Surroundings {
  /** Whether this program is in the pid namespace of the host; otherwise it has its own. */
  readonly inHostPids: boolean;
  /** Mount point of the host's /proc. */
  readonly hostProc: string;
}

export function thisKernel({ inHostPids, hostProc }: Surroundings = { inHostPids: false, hostProc: "/proc" }): Kernel {
  const prober = new Prober();
  const changes = new MountChanges();
  return {
    mounts: mountTable(),
    // Manifests of 2.x do not mount the host's /proc. The container's own /proc shows no process outside of the container.
    isOnNode: (path, deviceId) => (hostProc === "/proc" ? undefined : isDeviceForRuntime(hostProc, path, deviceId)),
    onMountChange: (listener) => changes.subscribe(listener),
    probe: (call, mountPoint, limitMs) => prober.probe(call, mountPoint, limitMs),
    openFuse,
    mountFuse: (device, source, pids) =>
      inHostPids && pids === "private" ? mountFuseHidingPids(device, source) : mountFuse(device, source),
    bind,
    bindReadOnly,
    unmount,
    cpuTimeNs: (of) => cpuTimeNs(hostProc, of),
    podsWithProcesses: () => (hostProc === "/proc" ? undefined : podsWithProcesses(hostProc)),
    hasVanished,
    abortFuse: abortConnection,
    makeDirectory: (path) => void mkdirSync(path, { recursive: true, mode: 0o750 }),
    removeDirectory: (path) => unlessErrno(["ENOENT"], () => (rmdirSync(path), true)) ?? false,
    namesIn: (directory) => unlessErrno(["ENOENT"], () => readdirSync(directory)) ?? [],
  };
}
