/** The view of one replica of the reconciler on the model: the watch of each kind of object lags on its own, by any time. */
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { Workload } from "../domain/workload.ts";
import { observe } from "../observe/observe.ts";
import { type Claim, emptyView } from "../observe/view.ts";
import type { Observed, ObservedAttachment, Refusal } from "./decision.ts";
import { current, node, volume } from "./situation.fixture.ts";

export interface Objects {
  readonly workloads: Map<string, Workload>;
  readonly attachments: Map<string, ObservedAttachment>;
  readonly mountpointPods: Map<string, ReportedMountpointPod>;
  readonly claims: Map<string, Claim>;
  readonly volumes: Map<string, S3Volume | Refusal>;
}

export type Kind = keyof Objects;
export type ValueOf<Of extends Kind> = Objects[Of] extends Map<string, infer Value> ? Value : never;

export const kinds = ["workloads", "attachments", "mountpointPods", "claims", "volumes"] as const;
const policy = { driverVersion: "3.0.0", current, staleAfterMs: 120_000 };

export class Replica {
  readonly #view = emptyView();
  /** Changes that are not in the view yet, by kind: the watches of different kinds are independent of each other. */
  readonly #pending: Record<Kind, (() => void)[]> = {
    workloads: [],
    attachments: [],
    mountpointPods: [],
    claims: [],
    volumes: [],
  };
  #version = 0;
  /** Of the monotonic clock of the replica. */
  #nowMs = 0;

  /** Lists every object now. */
  constructor(truth: Objects) {
    for (const kind of kinds) for (const [name, value] of truth[kind]) this.put(kind, name, value);
    this.renew();
  }

  put<Of extends Kind>(kind: Of, name: string, value: ValueOf<Of>): void {
    this.#version += 1;
    const version = String(this.#version);
    this.#pending[kind].push(() => {
      this.#nowMs += 1;
      const observed = kind === "attachments" ? { ...(value as ObservedAttachment), observedAtMs: this.#nowMs } : value;
      this.#view[kind].put(name, version, observed as never);
    });
  }

  remove(kind: Kind, name: string): void {
    this.#pending[kind].push(() => this.#view[kind].remove(name));
  }

  deliver(kind: Kind, count = Infinity): void {
    for (const show of this.#pending[kind].splice(0, count)) show();
  }

  deliverAll(): void {
    for (const kind of kinds) this.deliver(kind);
  }

  /** SC-7: the replica lists every object again. */
  renew(): void {
    this.#view.podChanges.begin(this.#nowMs + 0.5);
    this.deliverAll();
    this.#view.podChanges.complete();
  }

  observed(now: Date): Observed {
    return observe(this.#view, { node, persistentVolume: volume.name }, policy, now);
  }
}
