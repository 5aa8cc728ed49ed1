/** A program ends while a FUSE server owes it an answer, on the real kernel. */
import { expect, it } from "vitest";
import { scenariosOf } from "./fuse-scenarios.ts";

const observe = scenariosOf("end");

/** Of a process that has ended and is kept: its first thread, and the one that waits for the server. */
const states = ["Z", "D"];

it("LC-17 a program whose question a hung server holds ends when the limit is over, and not before", async () => {
  const seen = { states, code: 0, waitedForLimit: true, health: "dead", server: 0 };
  await expect(observe("hung")).resolves.toEqual(seen);
});

it.for(["busy", "hungWithoutLimit"])(
  "LC-17 gives up no server that works, and none without a limit: %s",
  async (how) => {
    const seen = { states, endedByItself: false, code: 0, server: "SIGKILL" };
    await expect(observe(how)).resolves.toEqual(seen);
  },
);

it("LC-17 a program whose question the server has not read yet ends at once, and the server goes on serving", async () => {
  const seen = { before: "serving", code: 0, waitedForLimit: false, watchdogs: 0, after: "serving" };
  await expect(observe("slow")).resolves.toEqual(seen);
});

it("LC-17 a program without a question starts no watchdog", async () => {
  await expect(observe("idle")).resolves.toEqual({ code: 0, watchdogs: 0 });
});

it("LC-17 the watchdog ends with the program, also where the pid namespace stays", async () => {
  await expect(observe("sharedPids")).resolves.toEqual({ code: 0 });
});
