import { expect, it } from "vitest";
import { fuseDevice } from "../../linux/device-id.ts";
import { advance, hasSameReport, type Observation, type SourceState, unknownSource } from "./source-state.ts";

const now = new Date("2026-01-15T10:30:00Z");
const limitMs = 1000;

function answer(what: "serving" | "dead" | "hung" | "absent", more: Partial<Observation & { saw: "answer" }> = {}) {
  const rest = { deviceId: fuseDevice(7), isAwaited: false, cpuNs: 1, nowMs: 0, hangLimitMs: limitMs };
  return { saw: "answer", answer: what, ...rest, ...more } as const;
}

function after(...seen: readonly Observation[]): SourceState {
  return seen.reduce((state, one) => advance(state, one, now).state, unknownSource);
}

it.for<{ what: string; seen: readonly Observation[]; condition: string }>([
  { what: "there is no observation", seen: [], condition: "absent" },
  { what: "mount-s3 answers", seen: [answer("serving")], condition: "serving" },
  { what: "a publish waits for the first answer", seen: [answer("hung", { isAwaited: true })], condition: "starting" },
  { what: "mount-s3 is silent and no publish waits", seen: [answer("hung")], condition: "hung" },
  {
    what: "it answered before, and another workload waits",
    seen: [answer("serving"), answer("hung", { isAwaited: true })],
    condition: "hung",
  },
  {
    what: "a new mount is at the source, and a publish waits",
    seen: [answer("serving"), answer("hung", { deviceId: fuseDevice(8), isAwaited: true })],
    condition: "starting",
  },
  { what: "mount-s3 died", seen: [answer("serving"), answer("dead")], condition: "dead" },
  { what: "mount-s3 died and its Pod does not exit", seen: [answer("dead"), { saw: "stuck" }], condition: "stuck" },
  {
    what: "a stuck source is probed again",
    seen: [answer("dead"), { saw: "stuck" }, answer("dead")],
    condition: "stuck",
  },
  {
    what: "a stuck one serves again",
    seen: [answer("dead"), { saw: "stuck" }, answer("serving")],
    condition: "serving",
  },
  { what: "the source was unmounted", seen: [answer("serving"), { saw: "nothing" }], condition: "absent" },
])("$what: $condition", ({ seen, condition }) => {
  expect(after(...seen).condition).toBe(condition);
});

it("counts a heal once for each death", () => {
  const state = after(answer("serving"), answer("dead"), answer("dead"), answer("serving"), answer("serving"));
  expect(state).toMatchObject({ heals: 1, lastDeath: now, isDown: false });
  expect(after(answer("serving")).heals).toBe(0);
});

it("gives up a mount once when mount-s3 is silent and uses no CPU for the limit", () => {
  const silent = after(answer("hung"), answer("hung", { nowMs: limitMs - 1 }));
  const { state, giveUp } = advance(silent, answer("hung", { nowMs: limitMs }), now);
  expect(giveUp).toEqual({ sinceMs: 0, cpuNs: 1 });
  expect(advance(state, answer("hung", { nowMs: limitMs + 1 }), now).giveUp).toBeUndefined();
});

it.for([
  { what: "mount-s3 used CPU", seen: answer("hung", { nowMs: limitMs, cpuNs: 2 }) },
  { what: "the process is not visible", seen: answer("hung", { nowMs: limitMs, cpuNs: undefined }) },
  { what: "the source has another mount", seen: answer("hung", { nowMs: limitMs, deviceId: fuseDevice(8) }) },
  { what: "the limit is 0", seen: answer("hung", { nowMs: limitMs, hangLimitMs: 0 }) },
  { what: "mount-s3 answered", seen: answer("serving", { nowMs: limitMs }) },
])("does not give up a silent mount when $what", ({ seen }) => {
  expect(advance(after(answer("hung")), seen, now).giveUp).toBeUndefined();
});

it("adopts the report of an earlier node plugin only before its own first death or heal", () => {
  const report = { saw: "report", lastDeath: new Date(0), heals: 3 } as const;
  expect(after(report)).toMatchObject({ lastDeath: new Date(0), heals: 3 });
  expect(after(answer("dead"), report)).toMatchObject({ lastDeath: now, heals: 0 });
});

it("changes the report only when condition or use change", () => {
  const serving = after(answer("serving"));
  expect(hasSameReport(serving, advance(serving, answer("serving", { nowMs: 5 }), now).state)).toBe(true);
  expect(hasSameReport(serving, advance(serving, { saw: "use", inUse: true }, now).state)).toBe(false);
  expect(hasSameReport(serving, advance(serving, answer("dead"), now).state)).toBe(false);
});
