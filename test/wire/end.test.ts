/** A program ends while a FUSE server owes it an answer, on the real kernel. */
import { expect, it } from "vitest";
import { scenariosOf } from "./fuse-scenarios.ts";

const observe = scenariosOf("end");

/** Of a process that has ended and is kept: its first thread, and the one that waits for the server. */
const states = ["Z", "D"];

it("LC-17 a program whose request a hung server has read exits after the limit, and not before", async () => {
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

it("LC-17 a program whose request the server has not read exits at once, and the server continues to serve", async () => {
  const seen = { before: "serving", code: 0, waitedForLimit: false, watchdogs: 0, after: "serving" };
  await expect(observe("slow")).resolves.toEqual(seen);
});

it("LC-17 a program without a waiting request starts no watchdog", async () => {
  await expect(observe("idle")).resolves.toEqual({ code: 0, watchdogs: 0 });
});

it("LC-17 the watchdog exits with the program, even if the pid namespace stays", async () => {
  await expect(observe("sharedPids")).resolves.toEqual({ code: 0 });
});
