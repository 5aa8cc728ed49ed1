/** The reconciler as the image has it: one bundle, with the flags of V8 that it has there, in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bundle, growingProcess, steadyMemory } from "../../scripts/bundle.ts";

export interface Program extends Disposable {
  start(args: readonly string[]): Promise<Reconciler>;
}

export async function reconcilerProgram(): Promise<Program> {
  const directory = mkdtempSync(join(tmpdir(), "bench-controller-"));
  await bundle([join(import.meta.dirname, "../../src/bin/reconciler.ts")], directory);
  return {
    start: (args) => Reconciler.start(join(directory, "reconciler.mjs"), args),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}

interface Gap {
  readonly longestGapMs: number;
}

export class Reconciler implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ready = Promise.withResolvers<void>();
  #gap = Promise.withResolvers<Gap>();

  private constructor(program: string, args: readonly string[]) {
    // Without the variables of the machine, which are defaults of flags.
    const report = ["--import", join(import.meta.dirname, "loop-report.ts")];
    const child = spawn(process.execPath, [...growingProcess, ...report, program, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
      env: steadyMemory,
    });
    this.#child = child;
    let lastLine = "";
    createInterface({ input: child.stderr }).on("line", (line) => {
      lastLine = line;
      if (line.includes("caches synced")) this.#ready.resolve();
      if (line.startsWith('{"longestGapMs"')) this.#gap.resolve(JSON.parse(line) as Gap);
    });
    child.once("close", () => this.#ready.reject(new Error(`the reconciler ended: ${lastLine}`)));
  }

  /** It knows the whole cluster and works when this returns. */
  static async start(program: string, args: readonly string[]): Promise<Reconciler> {
    const reconciler = new Reconciler(program, args);
    await reconciler.#ready.promise;
    return reconciler;
  }

  get residentMb(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
  }

  /** For how long its event loop was held at most since the last call. */
  async longestGapMs(): Promise<number> {
    this.#gap = Promise.withResolvers();
    this.#child.kill("SIGUSR2");
    return (await this.#gap.promise).longestGapMs;
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}
