/** The reconciler as the image has it: one bundle, with the flags of V8 that it has there, in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { bundle, type growingProcess, type steadyMemory } from "../../scripts/bundle.ts";
import { freePort } from "../../test/support/free-port.ts";
import type { Reading } from "./loop-watch.ts";

export interface Program extends Disposable {
  start(args: readonly string[]): Promise<Reconciler>;
}

/** As scripts/bundle.ts of a checkout has them. */
interface Settings {
  readonly growingProcess: typeof growingProcess;
  readonly steadyMemory: typeof steadyMemory;
  /** Another checkout may be older. */
  readonly returnedMemory?: typeof steadyMemory;
}

/** Of this checkout, or of another one, each with its own flags of V8. */
export async function reconcilerProgram(checkout = join(import.meta.dirname, "../..")): Promise<Program> {
  const directory = mkdtempSync(join(tmpdir(), "bench-controller-"));
  await bundle([join(checkout, "src/bin/reconciler.ts")], directory);
  const settings = (await import(resolve(checkout, "scripts/bundle.ts"))) as Settings;
  return {
    start: (args) => Reconciler.start(join(directory, "reconciler.mjs"), settings, args),
    [Symbol.dispose]: () => rmSync(directory, { recursive: true }),
  };
}

type LoopReading = Pick<Reading, "longestGapMs" | "longestTurnMs">;

export class Reconciler implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended = new AbortController();
  #reading = Promise.withResolvers<LoopReading>();

  private constructor(
    program: string,
    { growingProcess: flags, steadyMemory, returnedMemory: env = steadyMemory }: Settings,
    args: readonly string[],
  ) {
    // Without the variables of the machine, which are defaults of flags.
    const report = ["--import", join(import.meta.dirname, "loop-report.ts")];
    const child = spawn(process.execPath, [...flags, ...report, program, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
      env,
    });
    this.#child = child;
    let lastLine = "";
    createInterface({ input: child.stderr }).on("line", (line) => {
      lastLine = line;
      if (line.startsWith('{"longestGapMs"')) this.#reading.resolve(JSON.parse(line) as LoopReading);
    });
    child.once("close", () => this.#ended.abort(new Error(`the reconciler ended: ${lastLine}`)));
  }

  /** It knows the whole cluster and works when this returns. */
  static async start(program: string, settings: Settings, args: readonly string[]): Promise<Reconciler> {
    const port = await freePort();
    const reconciler = new Reconciler(program, settings, [...args, `--health-port=${port}`]);
    while (!(await isReady(port))) await delay(50, undefined, { signal: reconciler.#ended.signal });
    return reconciler;
  }

  get residentMb(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? Number.NaN) / 1024;
  }

  /** For how long its event loop was held at most since the last call. */
  async loop(): Promise<LoopReading> {
    this.#reading = Promise.withResolvers();
    this.#child.kill("SIGUSR2");
    return await this.#reading.promise;
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

/** False while it does not listen yet, too. */
async function isReady(port: number): Promise<boolean> {
  return await fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ status }) => status === 200,
    () => false,
  );
}
