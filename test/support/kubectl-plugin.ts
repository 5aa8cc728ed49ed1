/** `kubectl s3` as a user runs it: the one file, by the Node of this machine, found by kubectl. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buildPlugin } from "../../scripts/plugin.ts";
import type { Cluster } from "./cluster.ts";

export interface Answer {
  readonly code: number;
  readonly out: string;
  /** What a person reads. */
  readonly text: string;
}

export class KubectlPlugin implements Disposable {
  readonly directory: string;
  readonly #cluster: Cluster;

  private constructor(cluster: Cluster, directory: string) {
    this.#cluster = cluster;
    this.directory = directory;
  }

  static async build(cluster: Cluster): Promise<KubectlPlugin> {
    const directory = mkdtempSync(join(tmpdir(), "kubectl-s3-"));
    await buildPlugin(directory);
    return new KubectlPlugin(cluster, directory);
  }

  /** With the rights of the administrator, unless another kubeconfig is named. */
  attempt(args: readonly string[], kubeconfig = this.#cluster.lab.layout.kubeconfig): Answer {
    try {
      const out = execFileSync("kubectl", args, {
        env: this.#environment(kubeconfig),
        encoding: "utf8",
        stdio: "pipe",
        maxBuffer: 64 * 1024 * 1024,
      });
      return { code: 0, out, text: out };
    } catch (error) {
      const { status, stdout, stderr } = error as { status: number; stdout: string; stderr: string };
      return { code: status, out: stdout, text: `${stdout}${stderr}` };
    }
  }

  kubectl(args: readonly string[], kubeconfig?: string): string {
    const { code, text, out } = this.attempt(args, kubeconfig);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")} ended with ${code}:\n${text}`);
    return out;
  }

  /** The Node of this project is newer than the oldest that the plugin supports, so it is taken out of PATH. */
  #environment(kubeconfig: string): NodeJS.ProcessEnv {
    const { kubernetes } = this.#cluster.lab.programs;
    const inherited = (process.env["PATH"] ?? "").split(":").filter((each) => !each.includes("node_modules"));
    const PATH = [this.directory, kubernetes, ...inherited].join(":");
    return { PATH, HOME: dirname(this.directory), KUBECONFIG: kubeconfig };
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
