import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { eventsFile, eventsPage, unshown } from "../scripts/events.ts";

it("OP-4 docs/reference/events.md is what the code says: npm run events", () => {
  expect(readFileSync(eventsFile, "utf8")).toBe(eventsPage());
});

it("OP-4 each event and each cause of a failed call has a test on a real cluster that names it", () => {
  expect(unshown()).toEqual([]);
});
