/** A long-running program of the lab: it can be started, stopped, killed and restarted, and its log can be read. */
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { isErrno } from "../src/runtime/errno.ts";
import type { Layout } from "./layout.ts";
import { inside, onlyChild, startDetached } from "./namespaces.ts";
import { isAlive, type ProcessId, signalProcess, untilEnded } from "./process-id.ts";

export interface ComponentSpec {
  /** "etcd", or "worker-1/kubelet" for a program of a node. */
  readonly name: string;
  readonly argv: readonly string[];
  /** It ends when the API server has not given it its rights after twenty seconds: it is started when that answers. */
  readonly afterApi?: true;
  /** It is not a part of every lab: somebody starts it. */
  readonly onDemand?: true;
}

const stopLimitMs = 20_000;

export class Component {
  readonly name: string;
  readonly logFile: string;
  readonly afterApi: boolean;
  readonly onDemand: boolean;
  readonly #argv: readonly string[];
  readonly #pidFile: string;
  readonly #init: () => ProcessId;

  constructor(layout: Layout, spec: ComponentSpec, init: () => ProcessId) {
    this.name = spec.name;
    this.logFile = join(layout.logs, `${spec.name}.log`);
    this.afterApi = spec.afterApi ?? false;
    this.onDemand = spec.onDemand ?? false;
    this.#argv = spec.argv;
    this.#pidFile = join(layout.state, "pids", `${spec.name}.json`);
    this.#init = init;
  }

  /** The process, if it runs. */
  get process(): ProcessId | undefined {
    try {
      const id = JSON.parse(readFileSync(this.#pidFile, "utf8")) as ProcessId;
      return isAlive(id) ? id : undefined;
    } catch (error) {
      if (isErrno(error, "ENOENT")) return undefined;
      throw error;
    }
  }

  async start(signal: AbortSignal): Promise<void> {
    if (this.process !== undefined) return;
    mkdirSync(dirname(this.logFile), { recursive: true });
    mkdirSync(dirname(this.#pidFile), { recursive: true });
    const log = openSync(this.logFile, "a");
    try {
      const entered = startDetached(inside(this.#init(), this.#argv), log);
      writeFileSync(this.#pidFile, JSON.stringify(await onlyChild(signal, entered)));
    } finally {
      closeSync(log);
    }
  }

  /** Asks it to end, and insists after a while. */
  async stop(signal: AbortSignal): Promise<void> {
    const id = this.process;
    if (id === undefined) return;
    signalProcess(id, "SIGTERM");
    try {
      await untilEnded(id, AbortSignal.any([signal, AbortSignal.timeout(stopLimitMs)]));
    } catch {
      // It ignored SIGTERM for the whole limit, or the caller is in a hurry: either way it must not stay.
      signalProcess(id, "SIGKILL");
    }
    rmSync(this.#pidFile, { force: true });
  }

  async kill(signal: AbortSignal): Promise<void> {
    const id = this.process;
    if (id === undefined) return;
    signalProcess(id, "SIGKILL");
    await untilEnded(id, signal);
    rmSync(this.#pidFile, { force: true });
  }

  async restart(signal: AbortSignal): Promise<void> {
    await this.stop(signal);
    await this.start(signal);
  }

  log(): string {
    try {
      return readFileSync(this.logFile, "utf8");
    } catch (error) {
      if (isErrno(error, "ENOENT")) return "";
      throw error;
    }
  }
}
