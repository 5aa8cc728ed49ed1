/**
 * Faults in a program that runs, at a system call of our choice: it fails, claims success without effect, or the program
 * stops or dies right there. strace does it from outside, so what is tested is the program as it is shipped.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import { isAlive, type ProcessId, signalProcess } from "../../lab/process-id.ts";
import { long } from "./healing.ts";

export interface Fault {
  readonly syscall: string;
  /** What happens, in strace's words: `error=EIO`, `retval=0`, `signal=KILL` (before the call), `signal=STOP` (after it). */
  readonly effect: string;
  /** Which of the calls: `2` is the second alone, `2+` every one from it on. */
  readonly when?: string;
  /** Only calls that name this path are met and counted. */
  readonly path?: string;
  /** Only calls of the main thread; otherwise each thread counts by itself. */
  readonly mainThread?: true;
}

export class Injection implements AsyncDisposable {
  readonly #strace: ChildProcess;
  readonly #ended: Promise<unknown>;
  #log = "";

  private constructor({ pid }: ProcessId, { syscall, effect, when = "1+", path, mainThread }: Fault) {
    const filter = [
      ...(path === undefined ? [] : ["-P", path]),
      "-e",
      `trace=${syscall}`,
      "-e",
      `inject=${syscall}:${effect}:when=${when}`,
    ];
    this.#strace = spawn("strace", [...(mainThread ? [] : ["-f"]), "-p", String(pid), ...filter], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#ended = once(this.#strace, "close");
    this.#strace.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#log += text;
    });
  }

  /** From now on, until it is disposed of or the program has ended. */
  static async into(process: ProcessId, fault: Fault): Promise<Injection> {
    const injection = new Injection(process, fault);
    while (!/attached/.test(injection.#log)) {
      const news = await Promise.race([
        once(injection.#strace.stderr as NodeJS.ReadableStream, "data"),
        injection.#ended,
      ]);
      if (injection.#strace.exitCode !== null) throw new Error(`strace ended: ${injection.#log}${String(news)}`);
    }
    return injection;
  }

  /** What it saw so far. */
  get log(): string {
    return this.#log;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // SIGTERM lets go of the program. With one that has just died strace may wait for its first thread without reaping the others, so that
    // neither ends: the kernel does that when strace is gone.
    this.#strace.kill(this.#log.includes("killed by SIGKILL") ? "SIGKILL" : "SIGTERM");
    await this.#ended;
  }
}

/** A fault that only stops a program shows the moment after the call; the program is killed there. */
export async function untilKilled(program: ProcessId, injection: Injection): Promise<void> {
  await expect.poll(() => injection.log, long).toMatch(/stopped by SIGSTOP|killed by SIGKILL/);
  signalProcess(program, "SIGKILL");
  // strace holds on to the threads of a dead program, or lets go of one that dies while its threads are being stopped, and says nothing.
  const hasDied = () => injection.log.includes("killed by SIGKILL") || !isAlive(program);
  await expect.poll(hasDied, long).toBe(true);
}
