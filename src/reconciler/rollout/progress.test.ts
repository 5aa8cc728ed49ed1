import { beforeEach, expect, it } from "vitest";
import type { PodName } from "../../core/names.ts";
import { silentLogger } from "../../runtime/log.ts";
import { type Decision, noneBlocked } from "./decide.ts";
import { type OwnPod, RolloutProgress } from "./progress.ts";
import { noCounts, type Tracked } from "./tracker.ts";

const call = { signal: new AbortController().signal, log: silentLogger };
const pod: OwnPod = { namespace: "kube-system", name: "controller-0", uid: "u" };
const nothing: Decision = { steps: [], held: undefined, failures: [], blocked: noneBlocked, again: undefined };
const failed = { name: "mp-1" as PodName, persistentVolume: "pv-1", node: "n1" } as Tracked;

let emitted: string[];
let progress: RolloutProgress;

beforeEach(() => {
  emitted = [];
  const record = (_call: unknown, about: object, { reason, message }: { reason: string; message: string }) => {
    expect(about).toMatchObject({ metadata: pod });
    emitted.push(`${reason}: ${message}`);
  };
  progress = new RolloutProgress({ record }, pod);
});

function report(counts: Partial<typeof noCounts> | object, decision: Partial<Decision> = {}): void {
  progress.report(call, { ...noCounts, ...counts }, { ...nothing, ...decision });
}

it("LC-21 a rollout is reported when it begins and when it ends, once", () => {
  report({ current: 3 });
  report({ current: 1, outdated: 2 });
  report({ current: 1, outdated: 1, moving: 1 });
  report({ current: 2, moving: 1 });
  report({ current: 2, skipped: 1 });
  report({ current: 2, skipped: 1 });
  expect(emitted.map((each) => each.split(":")[0])).toEqual(["RolloutProgressing", "RolloutCompleted"]);
  expect(emitted[1]).toContain("2 are up to date, 0 outdated, 0 moving, 0 failed, 1 skipped");
});

it("LC-21 a pause names the Mountpoint Pod that failed, and how many more", () => {
  report({ outdated: 5 }, { held: "failures", failures: [failed, failed] });
  expect(emitted).toEqual([
    expect.stringMatching(
      /^RolloutPaused: .*mp-1 of PersistentVolume pv-1 on node n1 could not be moved \(and 1 more\)/,
    ),
  ]);
});

it.for([
  ["failed", { failed: 1 }, { ...failed, state: "failed" }],
  ["is being replaced for too long", { moving: 1 }, { ...failed, state: "moving" }],
] as const)("LC-21 an end with a mount that %s is a warning", ([, counts, failure]) => {
  report({ current: 1, outdated: 1, ...counts }, { failures: [failure] });
  report({ current: 2, ...counts }, { failures: [failure] });
  expect(emitted).toEqual([
    expect.stringMatching(/^RolloutProgressing: /),
    expect.stringMatching(
      /^RolloutIncomplete: .*mp-1 of PersistentVolume pv-1 on node n1 could not be moved\. Nothing/,
    ),
  ]);
});

it.for([
  ["paused", "paused by mountpointPod.rollout.paused"],
  ["window", "window is closed"],
  ["nodes", "7 without room, 2 on kernels before 6.5, 1 on nodes that are not ready"],
] as const)("LC-21 why it waits: %s", ([held, text]) => {
  report({ outdated: 10 }, { held, blocked: { room: 7, kernel: 2, notReady: 1 } });
  expect(emitted).toEqual([expect.stringContaining("RolloutWaiting: ")]);
  expect(emitted[0]).toContain(text);
});

it("says nothing where operators ask for moves", () => {
  report({ outdated: 5 }, { held: "manual" });
  report({ current: 5 });
  expect(emitted).toEqual([]);
});
