import { expect, it } from "vitest";
import { volumeView } from "../page/page-state.fixture.ts";
import { announcementOf } from "./announcement.ts";

const volumes = ["a", "b", "c", "d", "e"].map((name) => volumeView(name));

it("names volumes whose health changed, new ones and removed ones", () => {
  const after = [volumeView("a", { health: "problem" }), ...volumes.slice(2), volumeView("f", { health: "waiting" })];
  expect(announcementOf(volumes, after)).toBe("a: Problem. f: Waiting. b: removed.");
});

it("says nothing about other changes", () => {
  expect(
    announcementOf(
      volumes,
      volumes.map((volume) => ({ ...volume, phase: "Released" })),
    ),
  ).toBe("");
});

it("sums a burst up", () => {
  const after = volumes.map(({ name }, at) => volumeView(name, { health: at < 2 ? "problem" : "waiting" }));
  expect(announcementOf(volumes, after)).toBe("5 volumes changed, 2 with a problem.");
});
