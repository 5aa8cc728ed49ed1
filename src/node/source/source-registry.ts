/** The one owner of what the node plugin knows about its sources, and of who does what with them at this moment. */
import type { PodName } from "../../core/names.ts";
import { orAborted } from "../../kube/or-aborted.ts";
import type { Call } from "../../runtime/call.ts";
import { inBackground } from "../../runtime/in-background.ts";
import type { Logger } from "../../runtime/log.ts";
import type { Connection } from "../mounts/comm-volume.ts";
import { DeadDevices } from "./dead-devices.ts";
import type { Hang } from "./hang.ts";
import { advance, hasSameReport, type Observation, type SourceState, unknownSource } from "./source-state.ts";

interface Start {
  readonly call: Call;
  readonly done: Promise<void>;
}

export class SourceRegistry {
  /** Devices whose mount-s3 has died and that workloads still have. They outlive their sources. */
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

  /** Resolves when every source was probed once. Before that, "absent" means nothing. */
  readonly firstRound = this.#firstRoundDone.promise;

  get(name: PodName): SourceState {
    return this.#states.get(name) ?? unknownSource;
  }

  /** Applies what was seen of a source. Answers the hang for which its connection is to be aborted. */
  observe(name: PodName, seen: Observation): Hang | undefined {
    const before = this.get(name);
    const { state, giveUp } = advance(before, seen, new Date());
    if (state === before) return giveUp;
    this.#states.set(name, state);
    if (!hasSameReport(before, state)) for (const listener of this.#changeListeners) listener(name);
    return giveUp;
  }

  /** From now on, whenever the condition or the use of a source is another one. */
  onChange(listener: (name: PodName) => void): Disposable {
    return subscription(this.#changeListeners, listener);
  }

  /** These sources are all that exist. Nothing is kept of others. */
  completeRound(names: ReadonlySet<PodName>): void {
    this.#firstRoundDone.resolve();
    for (const name of this.#states.keys()) if (!names.has(name)) this.#states.delete(name);
  }

  /**
   * Brings a source up once, however many workloads wait for it: all of them get the result of the first call. Only if that
   * one was called off (its own kubelet call ended) does the next try itself.
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

  /** A publish or a heal waits for an answer of mount-s3: the first one, or that of a mount which served before. */
  isStarting(name: PodName): boolean {
    return this.#starts.has(name);
  }

  /** From here to the end of the scope nobody unmounts the source. */
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

  /** Keeps the connection for as long as mount-s3 lives: the kernel closes it when the process dies. */
  connected(log: Logger, name: PodName, connection: Connection): void {
    this.disconnect(name);
    this.#connections.set(name, connection);
    inBackground(log, "waiting for the end of mount-s3", this.#reportEnd(log, name, connection));
  }

  /** Whether the end of mount-s3 would be noticed by its connection. */
  isConnected(name: PodName): boolean {
    return this.#connections.has(name);
  }

  /** The end of mount-s3 is expected from now on. */
  disconnect(name: PodName): void {
    this.#connections.get(name)?.[Symbol.dispose]();
    this.#connections.delete(name);
  }

  /** From now on, whenever the connection to a mount-s3 ends unasked. A mounter of 2.x closes its end and lives on. */
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
