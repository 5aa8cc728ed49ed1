import * as fc from "fast-check";
import { expect, it } from "vitest";
import { emptyState, eventView, mountpointPodView, volumeView } from "./page-state.fixture.ts";
import type { PageState } from "./page-state.ts";
import { byName, changeBetween, changed, latestFirst } from "./state-change.ts";

const healths = fc.constantFrom("ok", "problem", "idle" as const);
const names = fc.constantFrom("a", "b", "c", "d");
const states: fc.Arbitrary<PageState> = fc
  .record({
    volumes: fc.uniqueArray(fc.tuple(names, healths), { selector: ([name]) => name }),
    events: fc.uniqueArray(fc.tuple(names, fc.constantFrom("2026-01-01", "2026-01-02")), { selector: ([uid]) => uid }),
    orphanedPods: fc.uniqueArray(names),
    unreadable: fc.uniqueArray(names),
  })
  .map(({ volumes, events, orphanedPods, unreadable }) =>
    emptyState({
      volumes: volumes.map(([name, health]) => volumeView(name, { health })).toSorted(byName),
      events: events.map(([uid, time]) => eventView(uid, { time })).toSorted(latestFirst),
      orphanedPods: orphanedPods.map((name) => mountpointPodView(name)),
      unreadable,
    }),
  );

it("a state and its change make the next state", () => {
  fc.assert(
    fc.property(states, states, (before, after) => {
      const change = changeBetween(before, after);
      expect(change === undefined ? before : changed(before, change)).toEqual(after);
    }),
  );
});

it("equal states have no change", () => {
  fc.assert(
    fc.property(states, (state) => {
      expect(changeBetween(state, structuredClone(state))).toBeUndefined();
    }),
  );
});

it("one volume among many is the whole change, and the others stay the same objects", () => {
  const before = emptyState({ volumes: ["a", "b", "c"].map((name) => volumeView(name)) });
  const broken = volumeView("b", { health: "problem" });
  const change = changeBetween(before, emptyState({ volumes: [volumeView("a"), broken, volumeView("c")] }));
  expect(change).toEqual({ volumes: { changed: [broken], removed: [] }, events: { changed: [], removed: [] } });
  expect(change && changed(before, change).volumes[0]).toBe(before.volumes[0]);
});
