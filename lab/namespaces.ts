/**
 * Namespaces of the hub and of nodes. A node is a namespace set nested in the hub's: when the hub's init ends, the kernel
 * ends every node; when a node's init ends, that node alone is gone, like a machine that lost power.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { childrenOf, type ProcessId, processId } from "./process-id.ts";

const namespaceFlags = ["--mount", "--pid", "--net", "--uts", "--ipc"];

/** The command line that runs a program inside a namespace set. */
export function inside(init: ProcessId, argv: readonly string[]): readonly string[] {
  return ["nsenter", `--target=${init.pid}`, ...namespaceFlags, "--wd=/", "--", ...argv];
}

/** Starts a nested namespace set and gives its init. */
export async function startNested(signal: AbortSignal, hub: ProcessId): Promise<ProcessId> {
  const unshare = [
    "unshare",
    ...namespaceFlags,
    "--fork",
    "--kill-child=KILL",
    "--mount-proc",
    "--propagation=private",
  ];
  const entered = startDetached(inside(hub, [...unshare, "tini", "-s", "--", "sleep", "infinity"]), "ignore");
  // nsenter → unshare → init
  const outer = await onlyChild(signal, entered);
  const init = await onlyChild(signal, outer.pid);
  await untilNamed(signal, init.pid, "tini");
  return init;
}

/** Waits for the init process that a keeper started. */
export async function hubInit(signal: AbortSignal, unsharePidFile: string): Promise<ProcessId> {
  // The shell creates the file first and writes to it then.
  while (!existsSync(unsharePidFile) || !readFileSync(unsharePidFile, "utf8").endsWith("\n")) {
    await delay(5, undefined, { signal });
  }
  const unshare = Number(readFileSync(unsharePidFile, "utf8"));
  const init = await onlyChild(signal, unshare);
  await untilNamed(signal, init.pid, "tini");
  return init;
}

/** A process that outlives us; its output goes to a descriptor. */
export function startDetached(argv: readonly string[], output: number | "ignore"): number {
  const [program, ...args] = argv;
  if (program === undefined) throw new TypeError("an empty command cannot be started");
  const child = spawn(program, args, { detached: true, stdio: ["ignore", output, output], cwd: "/" });
  child.on("error", () => undefined);
  child.unref();
  if (child.pid === undefined) throw new Error(`${program} could not be started`);
  return child.pid;
}

export async function onlyChild(signal: AbortSignal, parent: number): Promise<ProcessId> {
  for (;;) {
    signal.throwIfAborted();
    const [child] = childrenOf(parent);
    const id = child === undefined ? undefined : processId(child);
    if (id !== undefined) return id;
    if (processId(parent) === undefined) throw new Error("a process of the lab ended while it was being started");
    await delay(5, undefined, { signal });
  }
}

/** A fresh child is still `unshare` itself, not yet in its namespaces: wait for the exec. */
async function untilNamed(signal: AbortSignal, pid: number, name: string): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    if (processId(pid) === undefined) throw new Error(`${name} ended while the lab was being started`);
    if (readFileSync(`/proc/${pid}/comm`, "utf8").trim() === name) return;
    await delay(5, undefined, { signal });
  }
}
