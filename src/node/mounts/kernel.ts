/** What the node program asks of the kernel. None of these calls waits for mount-s3, except `probe`, which cannot hang, and `hasVanished`. */
import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import type { PidNamespace } from "../../core/pid-namespace.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { bind, bindReadOnly, mountFuse, mountFuseHidingPids, openFuse, unmount } from "../../linux/fuse/fuse.ts";
import { abortConnection } from "../../linux/fuse/fusectl.ts";
import { type Health, Prober } from "../../linux/fuse/probe.ts";
import { MountChanges } from "../../linux/mounts/mount-changes.ts";
import { type Mount, mountTable } from "../../linux/mounts/mountinfo.ts";
import { isFuseForRuntime } from "../../linux/mounts/runtime-view.ts";
import { hasVanished } from "../../linux/mounts/vanished-root.ts";
import { type ContainerProgram, cpuTimeNs, podsWithProcesses } from "../../linux/process/processes.ts";
import type { Call } from "../../runtime/call.ts";
import { unlessErrno } from "../../runtime/errno.ts";

export interface Kernel {
  mounts(): readonly Mount[];
  /** Whether containers that are started from now on find this FUSE file system at a path; undefined where that cannot be seen. */
  isOnNode(path: string, minor: number): boolean | undefined;
  /** From now on, whenever anything is mounted or unmounted where we see it. */
  onMountChange(listener: () => void): Disposable;
  /** One question to the server of a mount; ends with "hung" at the limit. */
  probe(call: Call, mountPoint: string, limitMs: number): Promise<Health>;
  openFuse(): Descriptor;
  /** Seen from which pid namespace mount-s3 is told about processes. "host" only where we are in it ourselves. */
  mountFuse(device: Descriptor, source: string, pids: PidNamespace): void;
  bind(source: string, target: string): void;
  bindReadOnly(source: string, target: string): void;
  /** Takes off the top mount; false if there is none. */
  unmount(path: string): boolean;
  /** How long a program of a Pod has had a processor; undefined if it cannot be seen from here. */
  cpuTimeNs(of: ContainerProgram): number | undefined;
  /** UIDs of Pods of which a process runs; undefined if processes cannot be seen from here. */
  podsWithProcesses(): ReadonlySet<string> | undefined;
  /** Whether what a mount shows does not exist any more. Asks its server, who may take his time. */
  hasVanished(mountPoint: string): Promise<boolean>;
  /** Ends a FUSE connection for good: every request fails, and unfinished uploads are lost. */
  abortFuse(minor: number): void;
  /** With all its parents. Not for a place that is a mount: that would ask its server. */
  makeDirectory(path: string): void;
  /** Only an empty one: what is in it may be a user's file. False if there is none. */
  removeDirectory(path: string): boolean;
  /** Names in a directory, without a look at any of them; none if it is not there. */
  namesIn(directory: string): readonly string[];
}

export interface Surroundings {
  /** This program shares the pid namespace of the host; otherwise it has one of its own. */
  readonly inHostPids: boolean;
  /** Where the processes of the host can be seen. */
  readonly hostProc: string;
}

export function thisKernel({ inHostPids, hostProc }: Surroundings = { inHostPids: false, hostProc: "/proc" }): Kernel {
  const prober = new Prober();
  const changes = new MountChanges();
  return {
    mounts: mountTable(),
    // Manifests of 2.x do not mount the host's /proc; ours shows nobody outside of this container.
    isOnNode: (path, minor) => (hostProc === "/proc" ? undefined : isFuseForRuntime(hostProc, path, minor)),
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
