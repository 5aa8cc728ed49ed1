import { spawn } from "node:child_process";
import type { MountpointPod } from "../../core/mountpoint-pod-state.ts";
import { mayBeKeptFromEnding } from "../../linux/native.ts";
import { lifeline } from "../../linux/process/lifeline.ts";
import type { Logger } from "../../runtime/log.ts";
import type { NodeConfig } from "../config.ts";
import type { Ending } from "./end-watchdog.ts";

interface Needed {
  readonly config: Pick<NodeConfig, "kubeletDir" | "hostProc" | "hangLimitMs">;
  /** Those of this node. */
  readonly mountpointPods: () => Iterable<Pick<MountpointPod, "name" | "uid">>;
}

/** Starts when its scope ends, where a request may keep this process from ending. Must be the last thing that ends. */
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
 * Outlives this process only while a thread of it is kept by the kernel. That also holds where this process is the first
 * of its pid namespace: the kernel ends the others of the namespace when its last thread has ended.
 */
function spawnEndWatchdog(log: Logger, program: string, ending: Ending): void {
  const failed = (error: unknown) => log.info("nobody watches whether the node plugin ends", { error });
  try {
    using alive = lifeline();
    const argv = [...process.execArgv, program, JSON.stringify(ending)];
    spawn(process.execPath, argv, { detached: true, env: {}, stdio: [alive.fd, "ignore", "inherit"] })
      .on("error", failed)
      .unref();
  } catch (error) {
    failed(error); // no descriptor or no process is left: the plugin ends as far as the kernel lets it
  }
}
