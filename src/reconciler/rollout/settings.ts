/** The settings of the rollout of new settings to Mountpoint Pods that run. */
import { integer, json, type Kind, oneOf, trueOrFalse } from "../../runtime/settings/kinds.ts";
import type { Settings, ValuesOf } from "../../runtime/settings/settings.ts";
import { type Window, windowFrom } from "./window.ts";

export interface RolloutConfig {
  /** manual: operators ask for moves. rolling: the reconciler does, for every outdated Mountpoint Pod. */
  readonly strategy: "manual" | "rolling";
  readonly isPaused: boolean;
  /** Another value makes it try again what has failed. */
  readonly retry: string;
  readonly maxPerNode: number;
  readonly maxParallel: number;
  /** With so many failures a namespace of claims is left out, and with failures in more namespaces than that the rollout pauses. */
  readonly maxFailures: number;
  /** Whether it works on nodes that replace mounts with a gap. */
  readonly allowsGap: boolean;
  /** undefined: it may work at any time. */
  readonly window: Window | undefined;
}

/** A part of the value of an annotation. */
const word: Kind<string> = {
  expected: "up to 63 letters, digits and characters of ._-",
  parse: (given) => (/^[\w.-]{1,63}$/.test(given) ? given : undefined),
};

const bound = integer({ min: 1 });

export const rolloutSettings = {
  rolloutStrategy: {
    flag: "mountpoint-rollout-strategy",
    variable: "MOUNTPOINT_ROLLOUT_STRATEGY",
    kind: oneOf("manual", "rolling"),
    default: "manual",
  },
  rolloutPaused: {
    flag: "mountpoint-rollout-paused",
    variable: "MOUNTPOINT_ROLLOUT_PAUSED",
    kind: trueOrFalse,
    default: false,
  },
  rolloutRetry: {
    flag: "mountpoint-rollout-retry",
    variable: "MOUNTPOINT_ROLLOUT_RETRY",
    kind: word,
    default: "",
  },
  rolloutMaxPerNode: {
    flag: "mountpoint-rollout-max-per-node",
    variable: "MOUNTPOINT_ROLLOUT_MAX_PER_NODE",
    kind: bound,
    default: 1,
  },
  rolloutMaxParallel: {
    flag: "mountpoint-rollout-max-parallel",
    variable: "MOUNTPOINT_ROLLOUT_MAX_PARALLEL",
    kind: bound,
    default: 10,
  },
  rolloutMaxFailures: {
    flag: "mountpoint-rollout-max-failures",
    variable: "MOUNTPOINT_ROLLOUT_MAX_FAILURES",
    kind: bound,
    default: 1,
  },
  rolloutAllowsGap: {
    flag: "mountpoint-rollout-allows-gap",
    variable: "MOUNTPOINT_ROLLOUT_ALLOWS_GAP",
    kind: trueOrFalse,
    default: false,
  },
  rolloutWindow: {
    flag: "mountpoint-rollout-window",
    variable: "MOUNTPOINT_ROLLOUT_WINDOW",
    kind: json('a JSON object such as {"start": "22:00", "end": "04:00", "days": ["Sat"]}', windowFrom),
  },
} as const satisfies Settings;

export function rolloutFrom(values: ValuesOf<typeof rolloutSettings>): RolloutConfig {
  return {
    strategy: values.rolloutStrategy,
    isPaused: values.rolloutPaused,
    retry: values.rolloutRetry,
    maxPerNode: values.rolloutMaxPerNode,
    maxParallel: values.rolloutMaxParallel,
    maxFailures: values.rolloutMaxFailures,
    allowsGap: values.rolloutAllowsGap,
    window: values.rolloutWindow,
  };
}
