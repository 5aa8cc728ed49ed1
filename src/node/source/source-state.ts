/**
 * The state of one source and how each observation changes it. Pure: the probe loop, publishing and healing report observations,
 * and the registry applies them.
 */

import type { SourceCondition } from "../../core/attachment-status.ts";
import type { DeviceId } from "../../linux/device-id.ts";
import type { Health } from "../../linux/fuse/probe.ts";
import { type Hang, judgeHang } from "./hang.ts";

export interface SourceState {
  readonly condition: SourceCondition;
  readonly lastDeath: Date | undefined;
  /** How often mount-s3 has served again after a death. */
  readonly heals: number;
  /** mount-s3 has died and does not serve again yet. */
  readonly isDown: boolean;
  /** Whether workloads have bind mounts of the source; undefined until the reconciler asks for the unmount. */
  readonly inUse: boolean | undefined;
  /** The mount that was probed last. A new mount at the source has a new device, and starts without history. */
  readonly probed: Probed | undefined;
}

interface Probed {
  readonly deviceId: DeviceId;
  /** mount-s3 has answered, or the wait for its first answer has ended. From then on silence is a hang, not a start. */
  readonly hasStarted: boolean;
  readonly hang: Hang | undefined;
}

export const unknownSource: SourceState = {
  condition: "absent",
  lastDeath: undefined,
  heals: 0,
  isDown: false,
  inUse: undefined,
  probed: undefined,
};

export type Observation =
  /** No mount of the driver is at the source. */
  | { readonly saw: "nothing" }
  | {
      readonly saw: "answer";
      readonly deviceId: DeviceId;
      readonly answer: Health;
      /** A publish or a heal waits for the first answer. */
      readonly isAwaited: boolean;
      /** CPU time of mount-s3; undefined if its process is not visible. Needed only without an answer. */
      readonly cpuNs: number | undefined;
      readonly nowMs: number;
      readonly hangLimitMs: number;
    }
  /** mount-s3 has lost its mount and does not exit. Only its Pod shows this: a probe of the mount just finds it dead. */
  | { readonly saw: "stuck" }
  | { readonly saw: "use"; readonly inUse: boolean }
  /** What an earlier node plugin reported in the attachment's status. */
  | { readonly saw: "report"; readonly lastDeath: Date | undefined; readonly heals: number };

export interface Advance {
  readonly state: SourceState;
  /** mount-s3 hung for longer than the limit without using CPU: the caller must abort its FUSE connection. */
  readonly giveUp?: Hang;
}

export function advance(state: SourceState, seen: Observation, now: Date): Advance {
  switch (seen.saw) {
    case "nothing":
      return { state: { ...inCondition(state, "absent", now), probed: undefined } };
    case "answer":
      return answered(state, seen, now);
    case "stuck":
      return { state: inCondition(state, "stuck", now) };
    case "use":
      return { state: { ...state, inUse: seen.inUse } };
    case "report": {
      const knows = state.lastDeath !== undefined || state.heals > 0;
      return { state: knows ? state : { ...state, lastDeath: seen.lastDeath, heals: seen.heals } };
    }
    default:
      return seen satisfies never;
  }
}

const notProbed = { hasStarted: false, hang: undefined };

function answered(state: SourceState, seen: Observation & { saw: "answer" }, now: Date): Advance {
  const { deviceId, answer, isAwaited } = seen;
  const before = state.probed?.deviceId === deviceId ? state.probed : notProbed;
  if (answer !== "hung") {
    return { state: { ...inCondition(state, answer, now), probed: { deviceId, hasStarted: true, hang: undefined } } };
  }
  const isStarting = isAwaited && !before.hasStarted;
  // A start can hang, too.
  const { hang, giveUp } = judgeHang(before.hang, { ...seen, limitMs: seen.hangLimitMs });
  const probed = { deviceId, hasStarted: !isStarting, hang: giveUp ? undefined : hang };
  const next = { ...inCondition(state, isStarting ? "starting" : "hung", now), probed };
  return giveUp ? { state: next, giveUp: hang } : { state: next };
}

function inCondition(state: SourceState, condition: SourceCondition, now: Date): SourceState {
  if (state.condition === condition || (state.condition === "stuck" && condition === "dead")) return state;
  if (condition === "dead") return { ...state, condition, lastDeath: now, isDown: true };
  if (condition === "serving") return { ...state, condition, heals: state.heals + Number(state.isDown), isDown: false };
  return { ...state, condition };
}

/** Whether both states give the same status in the attachment. */
export function hasSameReport(a: SourceState, b: SourceState): boolean {
  return a.condition === b.condition && a.inUse === b.inUse;
}
