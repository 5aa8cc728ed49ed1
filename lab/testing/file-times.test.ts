import { expect, it } from "vitest";
import { longestFirst, timeTable } from "./file-times.ts";

it("the longest file comes first, and those of unknown length before it", () => {
  const files = ["a", "b", "new", "c", "also-new"];
  expect(longestFirst(files, { a: 1, b: 30, c: 7 })).toEqual(["also-new", "new", "b", "c", "a"]);
});

it("the table shows where the time of long files went", () => {
  const table = timeTable([
    { file: "short", seconds: 9, testCpuSeconds: 1, labCpuSeconds: 1 },
    { file: "long", seconds: 60.4, testCpuSeconds: 10, labCpuSeconds: 20 },
  ]);
  expect(table.split("\n").slice(2)).toEqual(["    60      50      10      20  long", ""]);
});

it("without long files there is no table", () => {
  expect(timeTable([{ file: "short", seconds: 9, testCpuSeconds: 1, labCpuSeconds: 1 }])).toBe("");
});
