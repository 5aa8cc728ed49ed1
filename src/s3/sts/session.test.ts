import { expect, it } from "vitest";
import { credentialsOf } from "../../../test/support/fake-node.ts";
import { hasEnded, isDue, pauseMs, sessionFrom } from "./session.ts";

const credentials = credentialsOf("temporary");
const minute = 60_000;
const begun = { nowMs: 1_000_000, mostMs: 60 * minute, chance: 0 };

it("ID-2 a session is renewed while a third of its life is left, and the time that a renewal takes", () => {
  const session = sessionFrom({ credentials, lifeMs: 15 * minute }, begun);
  expect(session.endsAtMs - begun.nowMs).toBe(15 * minute);
  const shortestLifeMs = 900_000;
  const takesMs = 10_000 + pauseMs(1000) + 30_000;
  expect(session.endsAtMs - session.renewAtMs).toBeGreaterThan(shortestLifeMs / 3 + takesMs);
  expect(session.renewAtMs - begun.nowMs).toBe(8.75 * minute);
});

it.for([0, 0.5, 0.999])(
  "ID-2 sessions of many nodes are renewed at different times, none of them later: %d",
  (chance) => {
    const { renewAtMs } = sessionFrom({ credentials, lifeMs: 15 * minute }, { ...begun, chance });
    expect(renewAtMs).toBeGreaterThanOrEqual(begun.nowMs + 7 * minute);
    expect(renewAtMs).toBeLessThanOrEqual(begun.nowMs + 8.75 * minute);
  },
);

it("ID-2 a session does not last longer than it was asked to last, whatever the clock of STS says", () => {
  const { endsAtMs, renewAtMs } = sessionFrom({ credentials, lifeMs: 1e12 }, begun);
  expect(endsAtMs - begun.nowMs).toBe(60 * minute);
  expect(renewAtMs - begun.nowMs).toBe(35 * minute);
});

it.for([0, -5 * minute, 1000])("ID-2 an STS that hands out a session of %d ms is not asked all the time", (lifeMs) => {
  expect(sessionFrom({ credentials, lifeMs }, begun).renewAtMs - begun.nowMs).toBe(10_000);
});

it("ID-2 a session is due, and has ended, from the moment on", () => {
  const session = sessionFrom({ credentials, lifeMs: 15 * minute }, begun);
  expect([session.renewAtMs - 1, session.renewAtMs].map((nowMs) => isDue(session, nowMs))).toEqual([false, true]);
  expect([session.endsAtMs - 1, session.endsAtMs].map((nowMs) => hasEnded(session, nowMs))).toEqual([false, true]);
});

it("ID-2 an STS that is away is asked after longer pauses, and at least twice a minute", () => {
  expect([1, 2, 3, 5, 6, 1000].map(pauseMs)).toEqual([1000, 2000, 4000, 16_000, 30_000, 30_000]);
});
