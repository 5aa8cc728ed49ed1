/** A kube-apiserver of the test's own beside that of the lab, over the same etcd: its authority can be rotated, and nobody else notices. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { controlPlane } from "../../lab/control-plane.ts";
import type { Lab } from "../../lab/lab.ts";
import { makePki } from "../../lab/pki.ts";
import { KubeClient } from "../../src/kube/client/client.ts";
import { kubeconfigCredentials } from "../../src/kube/client/credentials.ts";
import { silentLogger } from "../../src/runtime/log.ts";

const port = 6444;
const patienceMs = 120_000;

export class SecondApiServer implements AsyncDisposable {
  /** Names the authority in a file, which is what a Pod has; the client certificate is that of the lab's administrator. */
  readonly kubeconfig: string;
  readonly #lab: Lab;
  readonly #directory = mkdtempSync(join(tmpdir(), "second-api-server-"));
  #process: ChildProcess | undefined;
  #authorities = 0;

  private constructor(lab: Lab) {
    this.#lab = lab;
    this.kubeconfig = join(this.#directory, "kubeconfig");
    mkdirSync(join(this.#directory, "account"));
    symlinkSync("..data/ca.crt", join(this.#directory, "account/ca.crt"));
    const config = JSON.parse(readFileSync(lab.layout.kubeconfig, "utf8")) as { clusters: { cluster: object }[] };
    const cluster = { server: `https://127.0.0.1:${port}`, "certificate-authority": "account/ca.crt" };
    const clusters = config.clusters.map((one) => ({ ...one, cluster }));
    writeFileSync(this.kubeconfig, JSON.stringify({ ...config, clusters }));
  }

  /** Serves when this returns, with an authority that the kubeconfig trusts. */
  static async start(lab: Lab): Promise<SecondApiServer> {
    const server = new SecondApiServer(lab);
    try {
      const trust = await server.rotate();
      trust();
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Starts it again with a certificate of a new authority. The result makes the kubeconfig trust that one, and no other. */
  async rotate(): Promise<() => void> {
    await this.#stop();
    this.#authorities += 1;
    const name = `authority-${this.#authorities}`;
    const pki = join(this.#directory, name);
    await makePki(AbortSignal.timeout(patienceMs), pki, []);
    await this.#start(pki);
    return () => this.#project(name);
  }

  /** As kubelet does it: a link is exchanged, so that a reader finds the old file or the new one, and never none. */
  #project(name: string): void {
    const account = join(this.#directory, "account");
    symlinkSync(`../${name}`, join(account, "..data_tmp"));
    renameSync(join(account, "..data_tmp"), join(account, "..data"));
  }

  async #start(pki: string): Promise<void> {
    const { layout, programs } = this.#lab;
    const argv = controlPlane(layout, programs).find(({ name }) => name === "kube-apiserver")?.argv ?? [];
    const own = [
      `--secure-port=${port}`,
      `--tls-cert-file=${join(pki, "apiserver.crt")}`,
      `--tls-private-key-file=${join(pki, "apiserver.key")}`,
      // The Service "kubernetes" stays with the lab's.
      "--endpoint-reconciler-type=none",
      "--audit-log-path=",
    ];
    // It is no part of the lab, so it has to end with the test, also with one that is killed.
    this.#process = spawn("setpriv", ["--pdeathsig", "KILL", ...argv, ...own], { stdio: "ignore" });
    const call = { signal: AbortSignal.timeout(patienceMs), log: silentLogger };
    const lab = kubeconfigCredentials(layout.kubeconfig);
    const ca = readFileSync(join(pki, "ca.crt"));
    const credentials = { ...lab, server: new URL(`https://127.0.0.1:${port}`), tls: () => ({ ...lab.tls(), ca }) };
    using client = new KubeClient(credentials, { userAgent: "test" });
    await vi.waitFor(() => client.serverVersion(call), { timeout: patienceMs, interval: 200 });
  }

  async #stop(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
    rmSync(this.#directory, { recursive: true });
  }
}
