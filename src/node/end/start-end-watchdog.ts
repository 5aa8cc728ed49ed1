import { spawn } from "node:child_process";
import type { MountpointPod } from "../../core/mountpoint-pod-state.ts";
import { mayBeKeptFromEnding } from "../../linux/native.ts";
import { lifeline } from "../../linux/process/lifeline.ts";
import type { Logger } from "../../runtime/log.ts";
import type { NodeConfig } from "../config.ts";
import type { Ending } from "./end-watchdog.ts";

interface Needed {
  readonly config: Pick<NodeConfig, "kubeletDir" | "hostProc" | "hangLimitMs">;
  /** The Mountpoint Pods of this node. */
  readonly mountpointPods: () => Iterable<Pick<MountpointPod, "name" | "uid">>;
}

/** Starts the watchdog at the end of the scope if a request may keep this process from exiting. Must be disposed last. */
export function endWatchdog(log: Logger, program: string, { config, mountpointPods }: Needed): Disposable {
  const { kubeletDir, hostProc, hangLimitMs } = config;
  const start = () => {
    if (hangLimitMs === 0 || !mayBeKeptFromEnding()) return;
    const podUids = Object.fromEntries([...mountpointPods()].map(({ name, uid }) => [name, uid]));
    spawnEndWatchdog(log, program, { kubeletDir, hostProc, hangLimitMs, podUids });
  };
  return { [Symbol.dispose]: start };
}

/**
 * The watchdog outlives this process only while the kernel keeps a thread of it. That is true even if this process is pid 1 of its
 * pid namespace: the kernel kills the other processes of the namespace only when the last thread of pid 1 has ended.
 */
function spawnEndWatchdog(log: Logger, program: string, ending: Ending): void {
  const failed = (error: unknown) => log.info("the end watchdog could not be started", { error });
  try {
    using alive = lifeline();
    const argv = [...process.execArgv, program, JSON.stringify(ending)];
    spawn(process.execPath, argv, { detached: true, env: {}, stdio: [alive.fd, "ignore", "inherit"] })
      .on("error", failed)
      .unref();
  } catch (error) {
    failed(error); // no descriptor or process is available: a hung mount may keep the plugin from exiting
  }
}
