import { expect, it } from "vitest";
import { parseDurationMs } from "./duration.ts";

it.for([
  ["2m", 120_000],
  ["1h30m", 5_400_000],
  ["1m0.5s", 60_500],
  [".5s", 500],
  ["250ms", 250],
  ["1500us", 1.5],
  ["2", undefined],
  ["2 m", undefined],
  ["-2m", undefined],
  ["m", undefined],
  ["", undefined],
  ["2m!", undefined],
] as const)("%s is %s ms", ([text, ms]) => {
  expect(parseDurationMs(text)).toBe(ms);
});
