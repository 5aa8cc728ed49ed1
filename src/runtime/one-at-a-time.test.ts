import { expect, it } from "vitest";
import { OneAtATime } from "./one-at-a-time.ts";

it("work on one key waits for its predecessor, work on another key does not", async () => {
  const turns = new OneAtATime();
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const first = turns.run("a", async () => {
    await gate.promise;
    order.push("first");
  });
  const second = turns.run("a", async () => void order.push("second"));
  await turns.run("b", async () => void order.push("other"));
  gate.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(["other", "first", "second"]);
});

it("a failure is its own, and the next one gets its turn", async () => {
  const turns = new OneAtATime();
  const failing = turns.run("a", () => Promise.reject(new Error("no")));
  const next = turns.run("a", async () => "yes");
  await expect(failing).rejects.toThrow("no");
  await expect(next).resolves.toBe("yes");
});
