/** A reconciler's picture of the model's place: each kind of object is late by itself, and by any time. */
import type { ReportedMountpointPod } from "../domain/controller-status.ts";
import type { S3Volume } from "../domain/persistent-volume.ts";
import type { Workload } from "../domain/workload.ts";
import { observe } from "../observe/observe.ts";
import { type Claim, emptyView } from "../observe/view.ts";
import type { Observed, ObservedAttachment, Refusal } from "./decision.ts";
import { node, volume } from "./situation.fixture.ts";

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
const policy = { driverVersion: "3.0.0", staleAfterMs: 120_000 };

export class Follower {
  readonly #view = emptyView();
  /** What it is yet to be told, by kind: watches of different kinds know nothing of each other. */
  readonly #news: Record<Kind, (() => void)[]> = {
    workloads: [],
    attachments: [],
    mountpointPods: [],
    claims: [],
    volumes: [],
  };
  #version = 0;

  /** One that lists everything now. */
  constructor(truth: Objects, now: Date) {
    for (const kind of kinds) for (const [name, value] of truth[kind]) this.put(kind, name, value);
    this.renew(now);
  }

  put<Of extends Kind>(kind: Of, name: string, value: ValueOf<Of>): void {
    this.#version += 1;
    const version = String(this.#version);
    this.#news[kind].push(() => this.#view[kind].put(name, version, value as never));
  }

  remove(kind: Kind, name: string): void {
    this.#news[kind].push(() => this.#view[kind].remove(name));
  }

  tell(kind: Kind, count = Infinity): void {
    for (const tell of this.#news[kind].splice(0, count)) tell();
  }

  tellAll(): void {
    for (const kind of kinds) this.tell(kind);
  }

  /** SC-7: what there is now is read anew. */
  renew(now: Date): void {
    this.#view.news.begin(now.getTime());
    this.tellAll();
    this.#view.news.complete();
  }

  observed(now: Date): Observed {
    return observe(this.#view, { node, persistentVolume: volume.name }, policy, now);
  }
}
