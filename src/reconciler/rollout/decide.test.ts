/** Table tests of the decision of the rollout (LC-21). */
import { describe, expect, it } from "vitest";
import type { NodeName, PodName, PodUid, PvName } from "../../core/names.ts";
import type { RolloutState } from "../domain/rollout.ts";
import type { VolumeOnNodeKey } from "../domain/volume-on-node.ts";
import { type Decision, decide, type Observed } from "./decide.ts";
import type { NodeFacts } from "./node-facts.ts";
import { manualRollout } from "./rollout.fixture.ts";
import type { RolloutConfig } from "./settings.ts";
import { RolloutTracker, type Tracked } from "./tracker.ts";

const now = new Date("2026-01-15T12:00:00Z");
const before = (seconds: number) => new Date(now.getTime() - 1000 * seconds);
const rolling: RolloutConfig = { ...manualRollout, strategy: "rolling" };
const need = { pods: 1, cpu: 0.01, memory: 32 };

function tracked(name: string, but: Partial<Tracked> = {}): Tracked {
  return {
    name: name as PodName,
    uid: `uid of ${name}` as PodUid,
    resourceVersion: "1",
    node: `n${name.slice(0, 1)}` as NodeName,
    persistentVolume: name as PvName,
    namespace: `team-${name.slice(1)}`,
    hasFailed: but.state === "failed",
    ...{ state: "outdated", isObsolete: false, isMounted: true, isServing: true, leftSince: undefined },
    isLeft: but.leftSince !== undefined,
    ...but,
  };
}

const as = (state: RolloutState, ...names: readonly string[]) => names.map((name) => tracked(name, { state }));

function facts(but: Partial<NodeFacts> = {}): NodeFacts {
  return { lookedAt: now, obstacle: undefined, free: { pods: 10, cpu: 1, memory: 1000 }, ...but };
}

/** The first character of the name of a Mountpoint Pod is that of its node. */
function decided(
  pods: readonly Tracked[],
  nodes: Readonly<Record<string, NodeFacts>> = {},
  config: Partial<RolloutConfig> = {},
  asked: readonly Tracked[] = [],
): Decision {
  const tracker = new RolloutTracker(() => undefined);
  for (const pod of pods) tracker.note(pod.name as string as VolumeOnNodeKey, [pod]);
  const { outdated, moving, failed, obsolete } = tracker;
  const observed: Observed = {
    ...{ now, outdated, moving, failed, obsolete, needsOf: () => need },
    asked: new Map(asked.map((pod) => [pod.name, pod])),
    config: { ...rolling, ...config },
    nodes: new Map(Object.entries(nodes) as [NodeName, NodeFacts][]),
  };
  return decide(observed);
}

const summary = ({ steps }: Decision) =>
  steps.map((step) => (step.do === "look" ? `look ${step.node}` : `${step.do} ${step.pod.name}`));

const left = (seconds: number) => tracked("3a", { state: "moving", isMounted: false, leftSince: before(seconds) });

const kernel = (seconds: number) => facts({ obstacle: "kernel", lookedAt: before(seconds) });
const lookAt = (...nodes: readonly string[]) => nodes.map((node) => ({ do: "look", node: node as NodeName }) as const);
const many = Array.from({ length: 40 }, (_, index) => String.fromCodePoint(0x100 + index));

const onTwo = as("outdated", "1a", "1b", "2a");
const two = { n1: facts(), n2: facts() };
const night = { start: 22 * 60, end: 4 * 60, days: [0, 1, 2, 3, 4, 5, 6] };

describe("LC-21 a rollout", () => {
  it.for<[string, Parameters<typeof decided>, readonly string[]]>([
    ["looks at a node before it begins there", [onTwo], ["look n1", "look n2"]],
    ["begins with one Mountpoint Pod of each node", [onTwo, two], ["begin 1a", "begin 2a"]],
    ["begins again only after the move on a node", [[...as("moving", "1c"), ...onTwo], two], ["begin 2a"]],
    ["begins with as many at a time as it may", [onTwo, two, { maxParallel: 1 }], ["begin 1a"]],
    ["counts moves under way", [[...as("moving", "3a"), ...onTwo], two, { maxParallel: 2 }], ["begin 1a"]],
    ["begins with one after another on a node with several", [onTwo, two, { maxPerNode: 2 }], ["begin 1a", "begin 2a"]],
    [
      "begins with a second one on a node",
      [[...as("moving", "1c"), ...onTwo], two, { maxPerNode: 2 }],
      ["begin 1a", "begin 2a"],
    ],
    ["looks again after a while", [onTwo, { ...two, n1: facts({ lookedAt: before(11) }) }], ["begin 2a", "look n1"]],
    ["leaves a node without room alone", [onTwo, { ...two, n1: facts({ free: { ...need, pods: 0 } }) }], ["begin 2a"]],
    ["leaves an old kernel alone", [onTwo, { ...two, n1: facts({ obstacle: "kernel" }) }], ["begin 2a"]],
    [
      "begins on an old kernel if the gap is allowed",
      [onTwo, { ...two, n1: facts({ obstacle: "kernel" }) }, { allowsGap: true }],
      ["begin 1a", "begin 2a"],
    ],
    ["leaves a node that is not ready alone", [onTwo, { ...two, n1: facts({ obstacle: "notReady" }) }], ["begin 2a"]],
    ["begins where it may not look", [onTwo, { ...two, n1: facts({ free: undefined }) }], ["begin 1a", "begin 2a"]],
    [
      "looks for room again after five minutes",
      [onTwo, { ...two, n1: facts({ free: { ...need, pods: 0 }, lookedAt: before(301) }) }],
      ["begin 2a", "look n1"],
    ],
    [
      "waits for workloads that have no mount yet",
      [[tracked("1a", { isMounted: false }), tracked("2a")], two],
      ["begin 2a"],
    ],
    [
      "waits for a node plugin that reports: one of 2.x mounts no successor",
      [[tracked("1a", { isServing: false }), tracked("2a")], two],
      ["begin 2a"],
    ],
    [
      "is not held up by a move that waits for workloads to start",
      [[tracked("3a", { state: "moving", isMounted: false }), tracked("2a")], two, { maxParallel: 1 }],
      ["begin 2a"],
    ],
    [
      "waits while the mounts of a node are being replaced",
      [[tracked("2c", { state: "moving", isMounted: false, leftSince: before(10) }), ...onTwo], two],
      ["begin 1a"],
    ],
    [
      "waits for a move whose workloads are listed at the successor, before the former Mountpoint Pod has an annotation that says so",
      [[tracked("2c", { state: "moving", isMounted: false, isLeft: true }), ...onTwo], two],
      ["begin 1a"],
    ],
    [
      "counts a request of an abandoned rollout until it is withdrawn",
      [[...as("outdated", "1b", "2a"), tracked("1a", { isObsolete: true })], two, { maxParallel: 2 }],
      ["withdraw 1a", "begin 2a"],
    ],
    [
      "counts a request that the API server may have accepted, and repeats it",
      [onTwo, two, { maxParallel: 1 }, as("outdated", "2a")],
      ["begin 2a"],
    ],
    [
      "begins with no other one of a node where the API server may have accepted a request",
      [onTwo, two, {}, as("outdated", "1b")],
      ["begin 1b", "begin 2a"],
    ],
    [
      "finds out whether a request has arrived that it may not repeat, because moves have failed in the namespace since",
      [[...as("failed", "3b"), ...onTwo], two, { maxParallel: 1 }, as("outdated", "1b")],
      ["check 1b"],
    ],
    ["repeats no request while it is paused", [onTwo, two, { isPaused: true }, as("outdated", "1b")], []],
    ["begins with none while it is paused", [onTwo, two, { isPaused: true }], []],
    ["begins with none outside of its window", [onTwo, two, { window: night }], []],
    ["leaves the namespace of a failure alone", [[...as("failed", "3a"), ...onTwo], two], ["begin 1b"]],
    ["begins with none after failures in two namespaces", [[...as("failed", "3x", "3y"), ...onTwo], two], []],
    [
      "goes on beside a tenant who makes all of his volumes fail",
      [[...as("failed", "3x", "4x", "5x", "6x", "7x"), ...onTwo], two],
      ["begin 1a", "begin 2a"],
    ],
    [
      "tolerates failures in as many namespaces as it is told, and as many in each",
      [[...as("failed", "3a", "3y"), ...onTwo], two, { maxFailures: 2 }],
      ["begin 1a", "begin 2a"],
    ],
    [
      "begins with none after a failure that an operator's request repeats",
      [[...as("failed", "3x"), tracked("3y", { state: "moving", hasFailed: true }), ...onTwo], two],
      [],
    ],
    [
      "looks again at nodes with an obstacle only where it has places left, and after what it can do",
      [onTwo, { ...two, n1: facts({ obstacle: "notReady", lookedAt: before(301) }) }, { maxParallel: 1 }],
      ["begin 2a"],
    ],
    ["looks at an old kernel again", [onTwo, { ...two, n1: kernel(3601) }], ["begin 2a", "look n1"]],
    ["looks at an old kernel again only after an hour", [onTwo, { ...two, n1: kernel(3599) }], ["begin 2a"]],
    ["begins with none if operators do", [onTwo, two, { strategy: "manual" }], []],
    [
      "withdraws its former requests in any case",
      [
        [tracked("1a", { isObsolete: true }), tracked("2a", { state: "current", isObsolete: true })],
        two,
        { isPaused: true },
      ],
      ["withdraw 1a", "withdraw 2a"],
    ],
    ["has nothing to do at its end", [as("current", "1a", "2a"), two], []],
    ["skips what cannot be moved", [as("skipped", "1a"), two], []],
  ])("%s", ([, given, steps]) => {
    expect(summary(decided(...given))).toEqual(steps);
  });

  it.for<[string, Parameters<typeof decided>, Partial<Decision>]>([
    ["nothing", [onTwo, two], { held: undefined }],
    ["the operator", [onTwo, two, { isPaused: true }], { held: "paused" }],
    [
      "failures in two namespaces",
      [[...as("failed", "3x", "3y"), ...onTwo], two],
      { held: "failures", failures: as("failed", "3x", "3y") },
    ],
    ["a failure in the only namespace", [as("failed", "3a").concat(as("outdated", "1a")), two], { held: "failures" }],
    ["nothing in other namespaces", [[...as("failed", "3a"), ...onTwo], two], { held: undefined }],
    [
      "nodes although it looks at them again",
      [onTwo, { n1: kernel(3601), n2: kernel(3601) }],
      { held: "nodes", steps: lookAt("n1", "n2") },
    ],
    [
      "no node while others are only to be looked at",
      [onTwo, { n1: facts({ obstacle: "kernel" }) }],
      { held: undefined, steps: lookAt("n2") },
    ],
    ["failures that nothing follows", [as("failed", "3a"), two], { held: undefined, failures: as("failed", "3a") }],
    ["no failure if operators ask for moves", [as("failed", "3a"), two, { strategy: "manual" }], { failures: [] }],
    ["the strategy", [onTwo, two, { strategy: "manual" }], { held: "manual" }],
    [
      "nothing once all is done, although it is paused",
      [as("current", "1a"), two, { isPaused: true }],
      { held: undefined },
    ],
    [
      "its window, until that opens",
      [onTwo, two, { window: night }],
      { held: "window", again: { afterMs: 10 * 3_600_000, because: "the maintenance window is closed" } },
    ],
    [
      "nodes that can take no successor",
      [onTwo, { n1: facts({ obstacle: "kernel" }), n2: facts({ free: { ...need, cpu: 0 } }) }],
      { held: "nodes", blocked: { kernel: 2, notReady: 0, room: 1 } },
    ],
    [
      "no node while it works on another",
      [onTwo, { ...two, n1: facts({ obstacle: "kernel" }) }],
      { held: undefined, blocked: { kernel: 2, notReady: 0, room: 0 } },
    ],
  ])("is held back by %s", ([, given, expected]) => {
    expect(decided(...given)).toMatchObject(expected);
  });

  it("goes on beside mounts that are not replaced within five minutes", () => {
    const waiting = decided([left(299), ...onTwo], two);
    expect(waiting).toMatchObject({ failures: [], held: undefined, again: { afterMs: 1000 } });
    const overdue = decided([left(300), ...onTwo], two, { maxParallel: 1 });
    expect(overdue).toMatchObject({ failures: [left(300)], held: undefined });
    expect(summary(overdue)).toEqual(["begin 1a"]);
  });

  it("decides again after at most 20 steps", () => {
    const pods = many.map((node) => tracked(`${node}a`));
    const nodes = Object.fromEntries(many.map((node) => [`n${node}`, facts()]));
    const config = { maxParallel: 1000 };
    expect(decided(pods, nodes, config).steps.map((step) => step.do)).toEqual(Array(20).fill("begin"));
    expect(decided(pods, {}, config).steps.map((step) => step.do)).toEqual(Array(10).fill("look"));
    const obsolete = many.map((node) => tracked(`${node}a`, { isObsolete: true }));
    expect(decided(obsolete, nodes, { isPaused: true }).steps).toHaveLength(20);
  });

  it("is not held up by nodes that it looks at again and again", () => {
    const pods = [...many.map((node) => tracked(`${node}a`)), tracked("1a"), tracked("2a")];
    const stale = Object.fromEntries(
      many.map((node) => [`n${node}`, facts({ obstacle: "notReady", lookedAt: before(301) })]),
    );
    expect(summary(decided(pods, { ...stale, n1: facts() })).filter((each) => !/[^ -~]/.test(each))).toEqual([
      "begin 1a",
      "look n2",
    ]);
  });
});

describe("the tracker", () => {
  it("forgets what is gone, and reports only changes that matter", () => {
    let changes = 0;
    const tracker = new RolloutTracker(() => (changes += 1));
    const key = "n1/pv" as VolumeOnNodeKey;
    tracker.note(key, [tracked("1a")]);
    tracker.note(key, [tracked("1a", { resourceVersion: "2" })]);
    expect(changes).toBe(1);
    expect([...(tracker.outdated.get("n1" as NodeName)?.values() ?? [])]).toMatchObject([{ resourceVersion: "2" }]);
    tracker.note(key, as("moving", "1a"));
    expect([tracker.counts.outdated, tracker.counts.moving, tracker.outdated.size, tracker.moving.size]).toEqual([
      0, 1, 0, 1,
    ]);
    tracker.note(key, [tracked("1a", { state: "moving", leftSince: now })]);
    tracker.note(key, [tracked("1a", { state: "moving", leftSince: new Date(now) })]);
    expect(changes).toBe(3);
    tracker.note(key, []);
    expect(changes).toBe(4);
    expect([tracker.counts.moving, tracker.moving.size]).toEqual([0, 0]);
  });
});
