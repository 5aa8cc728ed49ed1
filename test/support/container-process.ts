/** The first process of a container, as this machine sees it: it can be signalled and traced from outside of the lab. */
import { readdirSync, readFileSync } from "node:fs";
import { type ProcessId, processId, signalProcess } from "../../lab/process-id.ts";
import type { Cluster, PodRef } from "./cluster.ts";

interface Containers {
  readonly status?: {
    readonly containerStatuses?: readonly { readonly name: string; readonly containerID?: string }[];
  };
}

/** Of the container of this name, or of the only one; undefined while it does not run. */
export async function processOf(
  cluster: Cluster,
  { namespace, name }: PodRef,
  container?: string,
): Promise<ProcessId | undefined> {
  const pod = await cluster.get<Containers>("pod", name, "-n", namespace);
  const statuses = pod?.status?.containerStatuses ?? [];
  const id = (container === undefined ? statuses[0] : statuses.find((one) => one.name === container))?.containerID;
  return id === undefined ? undefined : firstOf(id.replace(/^.*:\/\//, ""));
}

/** Hangs until the end of the scope, in which it may also be killed. */
export function halted(id: ProcessId): Disposable {
  signalProcess(id, "SIGSTOP");
  return { [Symbol.dispose]: () => signalProcess(id, "SIGCONT") };
}

/** Its cgroup is named after the container, and in its own pid namespace it is number 1. */
function firstOf(containerId: string): ProcessId | undefined {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const first = pids
    .map(Number)
    .find((pid) => procText(pid, "cgroup").includes(containerId) && /^NSpid:.*\s1$/m.test(procText(pid, "status")));
  return first === undefined ? undefined : processId(first);
}

/** Empty if it has ended. */
function procText(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    // Gone between two looks: ENOENT, or ESRCH in the middle of reading.
    return "";
  }
}
