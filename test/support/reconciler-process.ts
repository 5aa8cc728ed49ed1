/** The reconciler as it runs in its container: a process of its own that can be killed at any moment. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFailed } from "vitest";
import { compileCache } from "./compile-cache.ts";
import type { Stage } from "./stage.ts";

const program = join(import.meta.dirname, "../../src/bin/reconciler.ts");

/** Far away, so that whatever a test sees was done because of an event. */
const never = "--cleanup-interval-seconds=86400";

export interface ReconcilerOptions {
  readonly kubeconfig?: string;
  readonly flags?: readonly string[];
}

export class ReconcilerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly #waiting = new Set<() => void>();
  readonly #exit: Promise<number | undefined>;

  private constructor(args: readonly string[]) {
    // Without the variables of the machine, which are defaults of flags.
    const child = spawn(process.execPath, [program, ...args], {
      stdio: ["ignore", "ignore", "pipe"],
      env: { ...compileCache },
    });
    this.#child = child;
    this.#exit = once(child, "exit").then(([code]) => code ?? undefined);
    createInterface({ input: child.stderr }).on("line", (line) => {
      this.#lines.push(line);
      for (const look of this.#waiting) look();
    });
    onTestFailed(() => void process.stderr.write(`${this.log}\n`));
  }

  /** It knows the whole cluster and works when this returns. */
  static async start(stage: Stage, { kubeconfig, flags = [] }: ReconcilerOptions = {}): Promise<ReconcilerProcess> {
    const reconciler = new ReconcilerProcess([
      `--kubeconfig=${kubeconfig ?? stage.cluster.lab.layout.kubeconfig}`,
      `--mountpoint-namespace=${stage.mountpointNamespace}`,
      ...["--mountpoint-image=driver", "--mountpoint-version=1.0.0", never, "--v=4"],
      ...flags,
    ]);
    await reconciler.said("caches synced");
    return reconciler;
  }

  get log(): string {
    return this.#lines.join("\n");
  }

  /** What it answers to a probe of kubelet, which waits no longer than this; it needs the flag --health-port=0. */
  async probe(path: "livez" | "healthz" | "metrics"): Promise<string> {
    const port = /"serving health","port":(\d+)/.exec(this.log)?.[1];
    const answer = await fetch(`http://127.0.0.1:${port}/${path}`, { signal: AbortSignal.timeout(5000) });
    return `${answer.status} ${await answer.text()}`;
  }

  /** Until the log has a line with this text. */
  async said(text: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const look = () => void (this.log.includes(text) && resolve());
    this.#waiting.add(look);
    look();
    const ended = (code: unknown) => new Error(`the reconciler ended (${String(code)}) before "${text}":\n${this.log}`);
    this.#exit.then((code) => reject(ended(code)), reject);
    try {
      await promise;
    } finally {
      this.#waiting.delete(look);
    }
  }

  /** As the kernel does it, without any chance to tidy up. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exit;
  }

  /** It does nothing at all and notices nothing, as when its machine is suspended. */
  freeze(): void {
    this.#child.kill("SIGSTOP");
  }

  thaw(): void {
    this.#child.kill("SIGCONT");
  }

  /** As kubelet does it; gives the exit code. */
  async stop(): Promise<number | undefined> {
    this.#child.kill("SIGTERM");
    return await this.#exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
