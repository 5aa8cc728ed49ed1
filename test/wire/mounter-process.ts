import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";

const mounter = fileURLToPath(new URL("../../src/bin/mounter.ts", import.meta.url));

/** The mounter as a real process; killed when its scope ends. */
export class MounterProcess implements AsyncDisposable {
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #closed: Promise<unknown>;
  #stdout = "";
  #stderr = "";

  constructor(flags: readonly string[], wrapper: readonly string[] = []) {
    const [program = process.execPath, ...args] = [...wrapper, process.execPath, mounter, ...flags];
    this.#child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    this.#child.stdout.setEncoding("utf8").on("data", (text: string) => (this.#stdout += text));
    this.#child.stderr.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    this.#closed = once(this.#child, "close");
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error("the mounter did not start");
    return this.#child.pid;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The exit code, or the signal that ended it, once all its output is read. */
  async end(): Promise<number | NodeJS.Signals | null> {
    await this.#closed;
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#closed;
  }
}
