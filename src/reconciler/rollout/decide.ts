/**
 * LC-21. Which Mountpoint Pods the rollout asks their workloads to leave now, and why no others. Pure. It sets the same request as an
 * operator, so everything that follows is that of a move that was asked for by hand.
 */
import type { NodeName, PodName } from "../../core/names.ts";
import type { Again } from "../decision/decision.ts";
import { fits, type NodeFacts, type Room } from "./node-facts.ts";
import type { RolloutConfig } from "./settings.ts";
import type { Tracked } from "./tracker.ts";
import { untilOpenMs } from "./window.ts";

export interface Observed {
  readonly now: Date;
  readonly config: RolloutConfig;
  readonly outdated: ReadonlyMap<NodeName, ReadonlyMap<PodName, Tracked>>;
  readonly moving: ReadonlyMap<PodName, Tracked>;
  /** Those of `moving` included that an operator has asked to move since. */
  readonly failed: ReadonlyMap<PodName, Tracked>;
  readonly obsolete: ReadonlyMap<PodName, Tracked>;
  /** Those whose workloads were asked to leave them and whose version is still the same: the API server may have accepted the request. */
  readonly asked: ReadonlyMap<PodName, Tracked>;
  readonly nodes: ReadonlyMap<NodeName, NodeFacts>;
  /** What the successor of a Mountpoint Pod needs; undefined: not known. */
  readonly needsOf: (pod: Tracked) => Room | undefined;
}

/**
 * begin: ask the workloads to leave it. withdraw: take that back. check: find out whether such a request has arrived. look: find out
 * whether there is room on the node.
 */
export type Step =
  | { readonly do: "begin" | "withdraw" | "check"; readonly pod: Tracked }
  | { readonly do: "look"; readonly node: NodeName };

/** manual: operators ask for moves. nodes: no node with outdated Mountpoint Pods can take a successor. */
export type Held = "manual" | "paused" | "failures" | "window" | "nodes";

export type Obstacle = "kernel" | "notReady" | "room";

export interface Decision {
  readonly steps: readonly Step[];
  /** Why no further move begins although there are outdated Mountpoint Pods; undefined: nothing prevents it. */
  readonly held: Held | undefined;
  readonly failures: readonly Tracked[];
  /** The number of outdated Mountpoint Pods on nodes where they cannot be moved now. */
  readonly blocked: Readonly<Record<Obstacle, number>>;
  readonly again: Again | undefined;
}

export const noneBlocked: Readonly<Record<Obstacle, 0>> = { kernel: 0, notReady: 0, room: 0 };

/** For a node where nothing prevents a move: what else arrives there meanwhile is not counted. */
const freshMs = 10_000;
/** For a node where something does. A kernel changes only when the node is restarted. */
const blockedMs: Readonly<Record<Obstacle, number>> = { kernel: 3_600_000, notReady: 300_000, room: 300_000 };
/**
 * Containers whose mounts cannot be replaced keep the former Mountpoint Pod. A tenant can build such containers, and must not be able to
 * pause the rollout of a cluster with them: they are only reported.
 */
const replacingMs = 300_000;
/** A decision is made anew after its steps: a window may close, and failures may come, while they are performed. */
const mostSteps = 20;
const mostLooks = 10;
/** Nodes where something prevented a move must not hold up the others. */
const mostRepeatedLooks = 5;

export function decide(observed: Observed): Decision {
  const { now, config, outdated, moving } = observed;
  const isOverdue = ({ leftSince }: Tracked) =>
    leftSince !== undefined && now.getTime() - leftSince.getTime() >= replacingMs;
  const overdue = [...moving.values()].filter(isOverdue);
  // Where operators ask for moves, the failures are those of their requests.
  const failures = config.strategy === "manual" ? [] : [...observed.failed.values(), ...overdue];
  const active = underWay(observed).filter((pod) => !isOverdue(pod));
  const withdrawals = [...observed.obsolete.values()].map((pod) => ({ do: "withdraw", pod }) as const);
  const limited = (steps: readonly Step[]) => [...withdrawals, ...steps].slice(0, mostSteps);
  const base = { steps: limited([]), failures, blocked: noneBlocked, again: overdueAt(active, now) };
  if (outdated.size === 0) return { ...base, held: undefined };
  const failed = failedNamespaces(observed);
  const held = heldBack(config, failed.size > config.maxFailures, now);
  if (held !== undefined) return { ...base, ...held, again: earlier(base.again, held.again) };
  const isHeld = isFull(failed, config);
  const found = candidates(observed, active, isHeld);
  const again = [...observed.asked.values()].map((pod) => ({ do: isHeld(pod) ? "check" : "begin", pod }) as const);
  return {
    ...base,
    steps: limited([...again, ...found.steps]),
    blocked: found.blocked,
    held: active.length === 0 && !found.goesOn ? heldAt(found) : undefined,
    again: found.isBlocked
      ? earlier(base.again, { afterMs: leastBlockedMs, because: "a node had no room" })
      : base.again,
  };
}

/** What counts for the bounds. A request of an abandoned rollout moves workloads, too, until it is withdrawn. */
function underWay({ moving, obsolete, asked }: Observed): readonly Tracked[] {
  const pods = new Map([...obsolete, ...moving, ...asked]);
  return [...pods.values()].filter(({ isMounted, isLeft }) => isMounted || isLeft);
}

const leastBlockedMs = Math.min(...Object.values(blockedMs));

function heldBack(config: RolloutConfig, hasFailed: boolean, now: Date): Pick<Decision, "held" | "again"> | undefined {
  if (config.strategy === "manual") return { held: "manual", again: undefined };
  if (config.isPaused) return { held: "paused", again: undefined };
  if (hasFailed) return { held: "failures", again: undefined };
  const afterMs = config.window === undefined ? 0 : untilOpenMs(config.window, now);
  return afterMs === 0
    ? undefined
    : { held: "window", again: { afterMs, because: "the maintenance window is closed" } };
}

/**
 * The number of failures in each namespace of claims. A tenant can make moves of his volumes fail: he takes the key of a Secret away, or
 * deletes a bucket, and the successor cannot mount what the former Mountpoint Pod still serves. What is wrong with the installation fails
 * in every namespace. So a failure stops its own namespace, and only failures in several namespaces stop the cluster.
 */
function failedNamespaces({ failed }: Observed): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { namespace } of failed.values()) counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  return counts;
}

function isFull(failed: ReadonlyMap<string, number>, { maxFailures }: RolloutConfig) {
  return ({ namespace }: Tracked) => (failed.get(namespace) ?? 0) >= maxFailures;
}

interface Found {
  readonly steps: readonly Step[];
  readonly blocked: Readonly<Record<Obstacle, number>>;
  readonly isBlocked: boolean;
  /** A move begins, or may begin after a look. */
  readonly goesOn: boolean;
  /** Moves have failed in the namespace of a Mountpoint Pod. */
  readonly hasFailed: boolean;
}

function heldAt({ hasFailed, isBlocked }: Found): Held | undefined {
  if (hasFailed) return "failures";
  return isBlocked ? "nodes" : undefined;
}

/** Linear in the number of nodes. */
function candidates(observed: Observed, active: readonly Tracked[], isHeld: (pod: Tracked) => boolean): Found {
  const { config, outdated } = observed;
  const onNode = Map.groupBy(active, ({ node }) => node);
  const blocked: Record<Obstacle, number> = { ...noneBlocked };
  const possible: Possible = { begin: [], look: [], repeat: [] };
  let hasFailed = false;
  for (const [node, all] of outdated) {
    const allowed = [...all.values()].filter((pod) => !isHeld(pod));
    hasFailed ||= allowed.length < all.size;
    const pods = allowed.filter(({ name }) => !observed.asked.has(name));
    const { step, obstacle } = onNodeWith(observed, node, pods);
    if (obstacle !== undefined) blocked[obstacle] += pods.length;
    if (step === undefined || (onNode.get(node)?.length ?? 0) >= config.maxPerNode) continue;
    possible[obstacle === undefined ? step.do : "repeat"].push(step);
  }
  return {
    steps: withinBounds(possible, Math.max(0, config.maxParallel - active.length)),
    blocked,
    isBlocked: Object.values(blocked).some((count) => count > 0),
    goesOn: possible.begin.length + possible.look.length > 0,
    hasFailed,
  };
}

/** repeat: looks at nodes where something prevented a move. */
type Possible = Readonly<Record<"begin" | "look" | "repeat", Step[]>>;

function withinBounds({ begin, look, repeat }: Possible, free: number): readonly Step[] {
  const begins = begin.slice(0, free);
  const left = free - begins.length;
  const again = left > 0 ? repeat.slice(0, mostRepeatedLooks) : [];
  return [...begins, ...look.slice(0, Math.min(left, mostLooks)), ...again];
}

interface OnNode {
  readonly step?: Step & { readonly do: "begin" | "look" };
  readonly obstacle?: Obstacle;
}

/** Nothing is done, and nothing is wrong, while no workload has its mount yet. */
function onNodeWith(observed: Observed, node: NodeName, pods: readonly Tracked[]): OnNode {
  const mounted = pods.filter(({ isMounted }) => isMounted);
  const serving = mounted.filter(({ isServing }) => isServing);
  if (serving.length > 0) return onOneNode(observed, node, serving);
  // During an upgrade the node plugin may still be one of 2.x. Its successor reports, and that brings us back.
  return mounted.length === 0 ? {} : { obstacle: "notReady" };
}

/** Of a node that may be looked at again, the obstacle still counts until that is done. */
function onOneNode({ now, config, nodes, needsOf }: Observed, node: NodeName, pods: readonly Tracked[]): OnNode {
  const facts = nodes.get(node);
  const look = { do: "look", node } as const;
  if (facts === undefined) return { step: look };
  const ageMs = now.getTime() - facts.lookedAt.getTime();
  const pod = pods.find((each) => hasRoom(needsOf(each), facts.free));
  const given = config.allowsGap && facts.obstacle === "kernel" ? undefined : facts.obstacle;
  const obstacle = given ?? (pod === undefined ? "room" : undefined);
  if (obstacle !== undefined) return ageMs < blockedMs[obstacle] ? { obstacle } : { obstacle, step: look };
  return ageMs < freshMs && pod !== undefined ? { step: { do: "begin", pod } } : { step: look };
}

/** What is not known is tried: a successor that finds no room is given up, and counts as a failure. */
function hasRoom(needed: Room | undefined, free: Room | undefined): boolean {
  return needed === undefined || fits(needed, free);
}

/** When the first of the moves whose mounts are being replaced is to be reported. */
function overdueAt(active: readonly Tracked[], now: Date): Again | undefined {
  const ends = active.flatMap(({ leftSince }) => (leftSince === undefined ? [] : leftSince.getTime() + replacingMs));
  if (ends.length === 0) return undefined;
  return { afterMs: Math.max(0, Math.min(...ends) - now.getTime()), because: "mounts are being replaced" };
}

function earlier(a: Again | undefined, b: Again | undefined): Again | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.afterMs <= b.afterMs ? a : b;
}
