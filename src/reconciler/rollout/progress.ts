/** Reports how far a rollout is: log lines, and events on the Pod of the controller, when it begins, waits, pauses and ends. */
import type { ReasonOn } from "../../core/failures/event-catalogue.ts";
import type { EventRecorder } from "../../kube/events.ts";
import { kinds } from "../../kube/kinds.ts";
import type { Call } from "../../runtime/call.ts";
import type { RolloutState } from "../domain/rollout.ts";
import type { Decision, Held } from "./decide.ts";
import type { Tracked } from "./tracker.ts";

/** The Pod of this process. */
export interface OwnPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export type Counts = Readonly<Record<RolloutState, number>>;

/** incomplete: nothing is left that can be moved, and some could not be. */
type Phase = Held | "rolling" | "idle" | "incomplete";

export class RolloutProgress {
  readonly #events: Pick<EventRecorder, "record">;
  readonly #pod: OwnPod | undefined;
  #phase: Phase = "idle";
  #decision: Decision | undefined;

  /** Without the Pod there are only log lines. */
  constructor(events: Pick<EventRecorder, "record">, pod: OwnPod | undefined) {
    this.#events = events;
    this.#pod = pod;
  }

  get decision(): Decision | undefined {
    return this.#decision;
  }

  report(call: Call, counts: Counts, decision: Decision): void {
    this.#decision = decision;
    const phase = phaseOf(counts, decision);
    if (phase === this.#phase) return;
    const reported = reportOf(phase, counts, decision);
    const before = this.#phase;
    this.#phase = phase;
    if (phase === "manual" || (before === "manual" && phase === "idle")) return;
    call.log.info("rollout", { phase, ...counts, ...decision.blocked, failures: decision.failures.length });
    if (this.#pod !== undefined) this.#events.record(call, { kind: kinds.pods, metadata: this.#pod }, reported);
  }
}

function phaseOf({ outdated, moving }: Counts, { held, failures }: Decision): Phase {
  if (held !== undefined) return held;
  // A mount that could not be replaced may stay so for ever.
  const ended = failures.filter(({ state }) => state === "moving").length;
  if (outdated + moving - ended > 0) return "rolling";
  return failures.length === 0 ? "idle" : "incomplete";
}

interface Report {
  readonly reason: ReasonOn<"Pod of the controller">;
  readonly message: string;
}

function reportOf(phase: Phase, counts: Counts, decision: Decision): Report {
  const { current, outdated, moving, failed, skipped } = counts;
  const all = `of the Mountpoint Pods ${current} are up to date, ${outdated} outdated, ${moving} moving, ${failed} failed, ${skipped} skipped`;
  switch (phase) {
    case "idle":
      return { reason: "RolloutCompleted", message: `Nothing is left to be moved: ${all}` };
    case "incomplete":
      return { reason: "RolloutIncomplete", message: `${describe(decision.failures)}. Nothing else is left: ${all}` };
    case "rolling":
      return { reason: "RolloutProgressing", message: `The workloads of outdated Mountpoint Pods are moved: ${all}` };
    case "failures":
      return { reason: "RolloutPaused", message: `${describe(decision.failures)}; ${all}` };
    case "manual":
    case "paused":
    case "window":
    case "nodes":
      return { reason: "RolloutWaiting", message: `${waits[phase](decision)}: ${all}` };
    default:
      return phase satisfies never;
  }
}

const waits: Readonly<Record<Exclude<Held, "failures">, (decision: Decision) => string>> = {
  manual: () => "Operators ask for moves",
  paused: () => "The rollout is paused by mountpointPod.rollout.paused",
  window: () => "The maintenance window is closed",
  nodes: ({ blocked: { kernel, notReady, room } }) =>
    `No node can take a successor (${room} without room, ${kernel} on kernels before 6.5, ${notReady} on nodes that are not ready)`,
};

function describe(failures: readonly Tracked[]): string {
  const [first] = failures;
  const more = failures.length > 1 ? ` (and ${failures.length - 1} more)` : "";
  return `The workloads of Mountpoint Pod ${first?.name} of PersistentVolume ${first?.persistentVolume} on node ${first?.node} could not be moved${more}`;
}
