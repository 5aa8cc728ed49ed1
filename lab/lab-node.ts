/** One node of a lab: a machine that can lose power, come back, and be cut off. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Component } from "./component.ts";
import type { Programs } from "./control-plane.ts";
import { type Layout, type NodeAddress } from "./layout.ts";
import { inside, startNested } from "./namespaces.ts";
import { bootScript, nodeComponents, nodeDirectory, writeNodeFiles } from "./node-setup.ts";
import { isAlive, type ProcessId, signalProcess, untilEnded } from "./process-id.ts";
import { type RunOptions, run } from "./run.ts";

export class LabNode {
  readonly name: string;
  readonly address: NodeAddress;
  readonly components: readonly Component[];
  readonly #layout: Layout;
  readonly #hub: () => ProcessId;

  constructor(layout: Layout, address: NodeAddress, programs: Programs, hub: () => ProcessId) {
    this.name = address.name;
    this.address = address;
    this.#layout = layout;
    this.#hub = hub;
    this.components = nodeComponents(layout, address, programs).map(
      (spec) => new Component(layout, spec, () => this.init),
    );
  }

  get init(): ProcessId {
    return JSON.parse(readFileSync(this.#initFile, "utf8")) as ProcessId;
  }

  get isOn(): boolean {
    try {
      return isAlive(this.init);
    } catch {
      // Never booted: there is no file to read.
      return false;
    }
  }

  /** Boots the node with the disk it has; the first time, with an empty one. */
  async powerOn(signal: AbortSignal): Promise<void> {
    await writeNodeFiles(this.#layout, this.address);
    const init = await startNested(signal, this.#hub());
    writeFileSync(this.#initFile, JSON.stringify(init));
    await this.#plugIn(signal, init);
    await this.exec(["sh", "-c", bootScript(this.#layout, this.address)], { signal });
    const [containerd, ...others] = this.components;
    await containerd?.start(signal);
    // kubelet does not wait for its runtime: it ends when the socket is not there yet.
    while (!existsSync(`/proc/${init.pid}/root/run/containerd/containerd.sock`)) {
      if (containerd?.process === undefined) throw new Error(`containerd of ${this.name} ended`);
      await delay(20, undefined, { signal });
    }
    for (const component of others) await component.start(signal);
  }

  /** Everything on it ends at once, without a word to anybody; its disk stays. */
  async powerOff(signal: AbortSignal): Promise<void> {
    const { init } = this;
    signalProcess(init, "SIGKILL");
    await untilEnded(init, signal);
  }

  /** No packet reaches it or leaves it until `rejoin`. */
  async cutOff(signal: AbortSignal): Promise<void> {
    await this.#onHub(["ip", "link", "set", this.#port, "down"], signal);
  }

  async rejoin(signal: AbortSignal): Promise<void> {
    await this.#onHub(["ip", "link", "set", this.#port, "up"], signal);
  }

  /** Runs a program on the node. */
  exec(argv: readonly string[], options: RunOptions): Promise<string> {
    return run(inside(this.init, argv), options);
  }

  /** Gives an image archive to the node's containerd. */
  async load(signal: AbortSignal, archive: string): Promise<void> {
    await this.exec(["ctr", "--namespace=k8s.io", "images", "import", archive], { signal });
  }

  async #plugIn(signal: AbortSignal, init: ProcessId): Promise<void> {
    const { podRange, address } = this.address;
    const port = this.#port;
    const hub = this.#hub();
    // The veth pair is made inside the hub's namespaces, where the node's init has another pid: go by its namespace file.
    const script = [
      "set -eu",
      `ip link del ${port} 2>/dev/null || true`,
      `ip link add ${port} type veth peer name eth0 netns "$1"`,
      `ip link set ${port} master br0 up`,
      `ip route replace ${podRange} via ${address}`,
    ].join("\n");
    const pidInHub = pidSeenFrom(hub, init);
    await run(inside(hub, ["sh", "-c", script, "plug-in", String(pidInHub)]), { signal });
  }

  #onHub(argv: readonly string[], signal: AbortSignal): Promise<string> {
    return run(inside(this.#hub(), argv), { signal });
  }

  get #port(): string {
    return `port-${this.address.index}`;
  }

  get #initFile(): string {
    return join(nodeDirectory(this.#layout, this.address), "init.json");
  }
}

function pidSeenFrom(hub: ProcessId, init: ProcessId): number {
  const seen = pidsOf(init)[pidsOf(hub).length - 1];
  if (seen === undefined) throw new Error("the node's init process is not below the hub's");
  return seen;
}

/** NSpid lists a process's pid in every pid namespace it is in, outermost first; the node's own is one below the hub's. */
function pidsOf({ pid }: ProcessId): readonly number[] {
  const line = readFileSync(`/proc/${pid}/status`, "utf8").match(/^NSpid:\s+(.*)$/m)?.[1] ?? "";
  return line.split(/\s+/).map(Number);
}
