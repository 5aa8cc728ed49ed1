import { expect, it } from "vitest";
import { rowWindow, scrollTo } from "./row-window.ts";

const list = { count: 1000, rowHeight: 30, height: 600 };

it.for([
  { top: 0, first: 0, end: 30 },
  { top: 3000, first: 90, end: 130 },
  { top: 30_000, first: 990, end: 1000 },
])("at $top the rows $first to $end are drawn", ({ top, first, end }) => {
  expect(rowWindow({ ...list, top })).toEqual({ first, end });
});

it("a list that became shorter while it was scrolled down has no negative rows", () => {
  expect(rowWindow({ ...list, count: 3, top: 20_000 })).toEqual({ first: 0, end: 3 });
  expect(rowWindow({ ...list, count: 0, top: 0 })).toEqual({ first: 0, end: 0 });
});

it.for([
  { at: 0, to: 0 },
  { at: 99, to: 2970 },
  { at: 100, to: undefined },
  { at: 119, to: undefined },
  { at: 120, to: 3030 },
])("from row 100 on, row $at is shown at $to", ({ at, to }) => {
  expect(scrollTo(at, { ...list, top: 3000 })).toBe(to);
});
