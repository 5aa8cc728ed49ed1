/**
 * Lets the node plugin end although a hung mount-s3 holds one of its requests: the kernel then keeps the plugin's process,
 * whatever signal comes, until mount-s3 answers or its connection is aborted, and kubelet cannot start the next plugin.
 * Runs in a process of its own beside the plugin that ends, and gives a mount up by the same rule as the plugin does.
 */
import type { PodName } from "../../core/names.ts";
import { ProblemLog } from "../../kube/problem-log.ts";
import type { Mount } from "../../linux/mounts/mountinfo.ts";
import type { ContainerProgram } from "../../linux/process/processes.ts";
import type { Call } from "../../runtime/call.ts";
import { elapsed } from "../../runtime/elapsed.ts";
import { MountTable } from "../mounts/mount-table.ts";
import { type Hang, judgeHang } from "../source/hang.ts";

/** What the plugin leaves to its watchdog. */
export interface Ending {
  readonly kubeletDir: string;
  /** Where the processes of the host can be seen. */
  readonly hostProc: string;
  readonly hangLimitMs: number;
  /** UIDs of the Mountpoint Pods of this node, by their names. */
  readonly podUids: Readonly<Record<PodName, string>>;
}

export interface Machine {
  mounts(): readonly Mount[];
  connectionsWithRequests(): ReadonlySet<number>;
  cpuTimeNs(of: ContainerProgram): number | undefined;
  abortFuse(minor: number): void;
}

const longestPauseMs = 30_000;

/** Ends with the call, which ends with the plugin. */
export async function watchEnd(call: Call, machine: Machine, ending: Ending): Promise<void> {
  const pauseMs = Math.min(longestPauseMs, ending.hangLimitMs / 5);
  const problems = new ProblemLog();
  let hangs: Hangs = new Map();
  // A plugin that is not kept ends in a moment: there is nothing to look at.
  for (;;) {
    await elapsed(call, pauseMs);
    if (call.signal.aborted) return;
    try {
      hangs = lookAtAll(call, machine, ending, hangs);
      problems.resolve("look");
    } catch (error) {
      problems.report(call.log, "look", "the end of the node plugin cannot be watched", { error });
    }
  }
}

/** By minor number: while a request waits, its mount keeps the number. */
type Hangs = ReadonlyMap<number, Hang>;

function lookAtAll(call: Call, machine: Machine, ending: Ending, before: Hangs): Hangs {
  const mounts = new MountTable(machine.mounts(), ending.kubeletDir);
  const withRequests = machine.connectionsWithRequests();
  const hangs = new Map<number, Hang>();
  for (const [name, podUid] of Object.entries(ending.podUids)) {
    const mount = mounts.source(name as PodName);
    if (mount === undefined || !withRequests.has(mount.minor)) continue;
    const cpuNs = machine.cpuTimeNs({ podUid, program: "mount-s3" });
    // A mount-s3 that has used no processor time has answered nobody: the requests are those of the last look.
    const seen = { nowMs: performance.now(), cpuNs, limitMs: ending.hangLimitMs };
    const { hang, giveUp } = judgeHang(before.get(mount.minor), seen);
    if (giveUp) {
      machine.abortFuse(mount.minor);
      call.log.info("mount-s3 hung and was given up: the node plugin can end", { mountpointPod: name, mount, hang });
    } else {
      hangs.set(mount.minor, hang);
    }
    if (!before.has(mount.minor))
      call.log.info("mount-s3 may keep the node plugin from ending", { mountpointPod: name });
  }
  return hangs;
}
