/** Owns the state of every source of the node: condition, starts and publishes in progress, connections to mount-s3. */
import type { SourceCondition } from "../../core/attachment-status.ts";
import type { PodName } from "../../core/names.ts";
import type { Call } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import type { Logger } from "../../runtime/log.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import type { Connection } from "../mounts/comm-volume.ts";
import { DeadDevices } from "./dead-devices.ts";
import type { Hang } from "./hang.ts";
import { advance, hasSameReport, type Observation, type SourceState, unknownSource } from "./source-state.ts";

interface Start {
  readonly call: Call;
  readonly done: Promise<void>;
}

export class SourceRegistry {
  /** Devices whose mount-s3 has died and that workloads still use. They outlive their sources. */
  readonly dead: DeadDevices;
  readonly #states = new Map<PodName, SourceState>();
  readonly #starts = new Map<PodName, Start>();
  readonly #publishing = new Map<PodName, number>();
  readonly #connections = new Map<PodName, Connection>();
  readonly #changeListeners = new Set<(name: PodName) => void>();
  readonly #endListeners = new Set<(name: PodName) => void>();
  readonly #firstRoundDone = Promise.withResolvers<void>();

  constructor(dead = new DeadDevices()) {
    this.dead = dead;
  }

  /** Resolves when every source was probed once. Until then the condition "absent" carries no information. */
  readonly firstRound = this.#firstRoundDone.promise;

  get(name: PodName): SourceState {
    return this.#states.get(name) ?? unknownSource;
  }

  /** Of every source that was observed. */
  get conditions(): readonly SourceCondition[] {
    return Array.from(this.#states.values(), ({ condition }) => condition);
  }

  /** Applies an observation. Returns the hang if the caller must abort the FUSE connection of the source. */
  observe(name: PodName, seen: Observation): Hang | undefined {
    const before = this.get(name);
    const { state, giveUp } = advance(before, seen, new Date());
    if (state === before) return giveUp;
    this.#states.set(name, state);
    if (!hasSameReport(before, state)) for (const listener of this.#changeListeners) listener(name);
    return giveUp;
  }

  /** Calls the listener whenever the condition or the use of a source changes. */
  onChange(listener: (name: PodName) => void): Disposable {
    return subscription(this.#changeListeners, listener);
  }

  /** Ends a round of probes over all existing sources, and drops the state of every other source. */
  completeRound(names: ReadonlySet<PodName>): void {
    this.#firstRoundDone.resolve();
    for (const name of this.#states.keys()) if (!names.has(name)) this.#states.delete(name);
  }

  /**
   * Runs `work` once per source at a time: concurrent callers get the result of the first. If the call of the first was
   * cancelled (its kubelet call ended), the next caller runs its own `work`.
   */
  async bringUp(call: Call, name: PodName, work: () => Promise<void>): Promise<void> {
    for (let start = this.#starts.get(name); start !== undefined; start = this.#starts.get(name)) {
      try {
        return await orAborted(call, start.done);
      } catch (error) {
        if (call.signal.aborted || !start.call.signal.aborted) throw error;
      }
    }
    const done = work().finally(() => this.#starts.delete(name));
    this.#starts.set(name, { call, done });
    await done;
  }

  /** Whether a publish or a heal waits for an answer of mount-s3, which may have served before. */
  isStarting(name: PodName): boolean {
    return this.#starts.has(name);
  }

  /** Guarantees that the unmount loop leaves the source mounted until the scope ends. */
  publishing(name: PodName): Disposable {
    this.#publishing.set(name, (this.#publishing.get(name) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#publishing.get(name) ?? 1) - 1;
        if (left === 0) this.#publishing.delete(name);
        else this.#publishing.set(name, left);
      },
    };
  }

  isPublishing(name: PodName): boolean {
    return this.#publishing.has(name);
  }

  /** Keeps the connection open while mount-s3 lives: the kernel closes it when the process dies. Takes ownership. */
  connected(log: Logger, name: PodName, connection: Connection): void {
    this.disconnect(name);
    this.#connections.set(name, connection);
    inBackground(log, "waiting for the end of mount-s3", this.#reportEnd(log, name, connection));
  }

  /** Whether a connection will report the end of mount-s3. */
  isConnected(name: PodName): boolean {
    return this.#connections.has(name);
  }

  /** Closes the connection: the end of mount-s3 is expected from now on and not reported. */
  disconnect(name: PodName): void {
    this.#connections.get(name)?.[Symbol.dispose]();
    this.#connections.delete(name);
  }

  /** Calls the listener when mount-s3 closes its connection. A mounter of 2.x closes the connection and goes on serving. */
  onEnd(listener: (name: PodName) => void): Disposable {
    return subscription(this.#endListeners, listener);
  }

  async #reportEnd(log: Logger, name: PodName, connection: Connection): Promise<void> {
    if ((await connection.closed) === "byUs") return;
    log.info("mount-s3 has ended", { mountpointPod: name });
    this.disconnect(name);
    for (const listener of this.#endListeners) listener(name);
  }
}

function subscription<Listener>(listeners: Set<Listener>, listener: Listener): Disposable {
  listeners.add(listener);
  return { [Symbol.dispose]: () => listeners.delete(listener) };
}
