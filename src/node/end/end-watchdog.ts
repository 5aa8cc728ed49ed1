/**
 * Lets the node plugin exit although a hung mount-s3 holds one of its requests. The kernel keeps the process of the plugin, even
 * after SIGKILL, until mount-s3 answers or its connection is aborted, and kubelet cannot start the next plugin. The watchdog is
 * a process of its own that outlives the plugin's event loop, and it gives up mounts by the same rule as the plugin.
 */

import type { PodName } from "../../core/names.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { ContainerProgram } from "../../linux/process/processes.ts";
import type { Call } from "../../runtime/call.ts";
import { elapsed } from "../../runtime/elapsed.ts";
import { MountTable } from "../mounts/mount-table.ts";
import { type Hang, judgeHang } from "../source/hang.ts";

/** The argument that the plugin passes to its watchdog. */
export interface Ending {
  readonly kubeletDir: string;
  /** Mount point of the host's /proc. */
  readonly hostProc: string;
  readonly hangLimitMs: number;
  /** UIDs of the Mountpoint Pods of this node, by their names. */
  readonly podUids: Readonly<Record<PodName, string>>;
}

export interface Machine {
  mounts(): readonly Mount[];
  connectionsWithRequests(): ReadonlySet<DeviceId>;
  cpuTimeNs(of: ContainerProgram): number | undefined;
  abortFuse(deviceId: DeviceId): void;
}

const longestPauseMs = 30_000;

/** Runs until the call ends, which ends with the plugin. */
export async function watchEnd(call: Call, machine: Machine, ending: Ending): Promise<void> {
  const pauseMs = Math.min(longestPauseMs, ending.hangLimitMs / 5);
  const problems = new ProblemLog();
  let hangs: Hangs = new Map();
  // The pause comes first, because a plugin that waits for no mount exits at once.
  for (;;) {
    await elapsed(call, pauseMs);
    if (call.signal.aborted) return;
    try {
      hangs = checkMounts(call, machine, ending, hangs);
      problems.resolve("look");
    } catch (error) {
      problems.report(call.log, "look", "the end of the node plugin cannot be watched", { error });
    }
  }
}

/** Key: device, which the kernel does not reuse while a request waits. */
type Hangs = ReadonlyMap<DeviceId, Hang>;

function checkMounts(call: Call, machine: Machine, ending: Ending, before: Hangs): Hangs {
  const mounts = new MountTable(machine.mounts(), ending.kubeletDir);
  const withRequests = machine.connectionsWithRequests();
  const hangs = new Map<DeviceId, Hang>();
  for (const [name, podUid] of Object.entries(ending.podUids)) {
    const mount = mounts.source(name as PodName);
    if (mount === undefined || !withRequests.has(mount.deviceId)) continue;
    const cpuNs = machine.cpuTimeNs({ podUid, program: "mount-s3" });
    // A mount-s3 without CPU time has answered no request: the waiting requests are those of the last check.
    const seen = { nowMs: performance.now(), cpuNs, limitMs: ending.hangLimitMs };
    const { hang, giveUp } = judgeHang(before.get(mount.deviceId), seen);
    if (giveUp) {
      machine.abortFuse(mount.deviceId);
      call.log.info("mount-s3 hung and was given up: the node plugin can end", { mountpointPod: name, mount, hang });
    } else {
      hangs.set(mount.deviceId, hang);
    }
    if (!before.has(mount.deviceId))
      call.log.info("mount-s3 may keep the node plugin from ending", { mountpointPod: name });
  }
  return hangs;
}
