import { expect, it } from "vitest";
import { silentLogger } from "./log.ts";
import { Slots } from "./slots.ts";

function callOf(controller = new AbortController()) {
  return { signal: controller.signal, log: silentLogger };
}

/** Work that ends when the test says so. */
function heldWork() {
  const running: { item: string; end: PromiseWithResolvers<void> }[] = [];
  const work = async (item: string) => {
    const end = Promise.withResolvers<void>();
    running.push({ item, end });
    await end.promise;
  };
  return { running, work, names: () => running.map(({ item }) => item) };
}

it("runs so many at a time over all callers, and in the end all of them", async () => {
  const slots = new Slots(2);
  const held = heldWork();
  const both = Promise.all([
    slots.forEach(callOf(), ["a", "b", "c"], held.work),
    slots.forEach(callOf(), ["x"], held.work),
  ]);
  await expect.poll(held.names).toEqual(["a", "b"]);
  held.running[0]?.end.resolve();
  await expect.poll(held.names).toEqual(["a", "b", "x"]);
  held.running[1]?.end.resolve();
  await expect.poll(held.names).toEqual(["a", "b", "x", "c"]);
  for (const { end } of held.running) end.resolve();
  await both;
});

it("after a failure begins nothing more, and settles when what was begun has", async () => {
  const slots = new Slots(2);
  const held = heldWork();
  let settled = false;
  const all = slots.forEach(callOf(), ["a", "b", "c", "d"], held.work).finally(() => {
    settled = true;
  });
  all.catch(() => undefined);
  await expect.poll(held.names).toEqual(["a", "b"]);
  held.running[0]?.end.reject(new Error("first"));
  await slots.forEach(callOf(), ["other"], async () => undefined);
  expect(settled).toBe(false);
  held.running[1]?.end.resolve();
  await expect(all).rejects.toThrow("first");
  expect(held.names()).toEqual(["a", "b"]);
});

it("a call that is aborted while it waits leaves the queue, and its slot to the next", async () => {
  const slots = new Slots(1);
  const held = heldWork();
  const first = slots.forEach(callOf(), ["a"], held.work);
  const controller = new AbortController();
  const aborted = slots.forEach(callOf(controller), ["b"], held.work);
  const last = slots.forEach(callOf(), ["c"], held.work);
  controller.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  held.running[0]?.end.resolve();
  await first;
  await expect.poll(held.names).toEqual(["a", "c"]);
  held.running[1]?.end.resolve();
  await last;
});
