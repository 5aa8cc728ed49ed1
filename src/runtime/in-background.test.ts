import { expect, it } from "vitest";
import { inBackground } from "./in-background.ts";
import { type Logger, silentLogger } from "./log.ts";

it("SE-9 logs the failure of work that no caller awaits, and leaves no rejection without a handler", async () => {
  const logged = Promise.withResolvers<unknown[]>();
  const log: Logger = { ...silentLogger, error: (...line) => logged.resolve(line) };
  inBackground(log, "reporting", Promise.reject(new Error("no listener")));
  // Vitest itself fails a run with an unhandled rejection in it.
  expect(await logged.promise).toEqual([
    "background work failed",
    { work: "reporting", error: expect.objectContaining({ message: "no listener" }) },
  ]);
});
