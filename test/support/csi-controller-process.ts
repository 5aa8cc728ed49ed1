/** The CSI controller service as it runs in its container: a process of its own that can be killed at any moment. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { type Account, rootAccount } from "../../lab/s3.ts";
import { ControllerService, IdentityService } from "../../src/csi/gen/csi.ts";
import type { Cluster } from "./cluster.ts";
import { compileCache } from "./compile-cache.ts";
import { csiClient } from "./csi-client.ts";

const program = join(import.meta.dirname, "../../src/bin/controller.ts");

export interface CsiControllerOptions {
  readonly s3: string;
  readonly region?: string;
  /** undefined: it has none of its own. */
  readonly account?: Account | undefined;
  readonly flags?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** "serving": also while its caches are not synced. */
  readonly until?: "ready" | "serving";
}

/** Quick to give up, so that no test waits for what production waits for. */
const impatient = ["--s3-connect-seconds=5", "--s3-answer-seconds=5", "--s3-attempts=2"];
/** Requests that no test has asked for would be in its way. */
const minding = "--orphan-look-seconds=0";

export class CsiControllerProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly controller: ReturnType<typeof clientOf>;
  #log = "";

  private constructor(directory: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.#directory = directory;
    const endpoint = `unix:${join(directory, "csi.sock")}`;
    const argv = [program, `--endpoint=${endpoint}`, ...args];
    this.#child = spawn(process.execPath, argv, { stdio: ["ignore", "ignore", "pipe"], env });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#log += chunk.toString();
    });
    this.controller = clientOf(endpoint);
  }

  /** Ready when this returns, unless less is asked for. */
  static async start(cluster: Cluster, options: CsiControllerOptions): Promise<CsiControllerProcess> {
    const account = "account" in options ? options.account : rootAccount;
    const env = {
      ...compileCache,
      AWS_ENDPOINT_URL: options.s3,
      AWS_REGION: options.region ?? "us-east-1",
      ...(account && { AWS_ACCESS_KEY_ID: account.accessKeyId, AWS_SECRET_ACCESS_KEY: account.secretAccessKey }),
      ...options.env,
    };
    const kubeconfig = `--kubeconfig=${cluster.lab.layout.kubeconfig}`;
    const args = [kubeconfig, "--v=4", minding, ...impatient, ...(options.flags ?? [])];
    const directory = await mkdtemp(join(tmpdir(), "s3-csi-provisioner-"));
    const provisioner = new CsiControllerProcess(directory, args, env);
    await vi.waitFor(() => provisioner.#isReady(options.until ?? "ready"), { timeout: 60_000, interval: 100 });
    return provisioner;
  }

  get log(): string {
    return this.#log;
  }

  /** As the kernel does it, without any chance to tidy up. */
  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.controller[Symbol.dispose]();
    await this.kill();
    await rm(this.#directory, { recursive: true });
  }

  async #isReady(until: "ready" | "serving"): Promise<void> {
    const socket = join(this.#directory, "csi.sock");
    if (!existsSync(socket)) throw new Error(`not serving yet:\n${this.#log}`);
    using identity = csiClient(IdentityService, `unix:${socket}`);
    const { ready } = await identity.probe({});
    if (!ready && until === "ready") throw new Error(`not ready yet:\n${this.#log}`);
  }
}

function clientOf(endpoint: string) {
  return csiClient(ControllerService, endpoint);
}
