import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, it, vi } from "vitest";
import { TurnLimit } from "./turn-limit.ts";

afterEach(() => void vi.restoreAllMocks());

/** Every piece of work takes a millisecond. Returns how many pieces each turn of the event loop had. */
async function piecesPerTurn(workers: number, pieces: number): Promise<readonly number[]> {
  let atMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => atMs);
  const limit = new TurnLimit(5);
  const state = { done: 0 };
  const work = async () => {
    while (state.done < pieces) {
      state.done += 1;
      atMs += 1;
      await limit.pause();
    }
  };
  const turns: number[] = [];
  const working = Promise.all(Array.from({ length: workers }, work));
  for (let before = 0; state.done < pieces; before = state.done) {
    await nextTurn();
    turns.push(state.done - before);
  }
  await working;
  return turns;
}

it.for([1, 4, 64])("SC-5 %i workers share the time of a turn", async (workers) => {
  const turns = await piecesPerTurn(workers, 300);
  // In the first turn each worker begins with a piece, before it can be asked to pause.
  expect(Math.max(...turns.slice(1))).toBeLessThanOrEqual(5);
});

it("SC-5 callers with little to do go on in the same turn, until its time is over", async () => {
  let atMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => atMs);
  const limit = new TurnLimit(5);
  atMs = 10;
  const state = { done: 0 };
  const once = async () => {
    await limit.pause();
    state.done += 1;
    atMs += 1;
  };
  const working = Promise.all(Array.from({ length: 20 }, once));
  const turns: number[] = [];
  for (let before = 0; state.done < 20; before = state.done) {
    await nextTurn();
    turns.push(state.done - before);
  }
  await working;
  expect(turns.filter((pieces) => pieces > 0)).toEqual([5, 5, 5, 5]);
});
