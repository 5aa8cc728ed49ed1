import { expect, it } from "vitest";
import { parseQuantity } from "./quantity.ts";

it.for([
  ["0", 0],
  ["10m", 0.01],
  ["1.5", 1.5],
  [".5", 0.5],
  ["2.", 2],
  ["+3", 3],
  ["512Mi", 512 * 2 ** 20],
  ["1Gi", 2 ** 30],
  ["1G", 1e9],
  ["1E", 1e18],
  ["2e3", 2000],
  ["2E3", 2000],
  ["15e-1", 1.5],
  ["", undefined],
  ["Mi", undefined],
  ["-1", undefined],
  ["1 Gi", undefined],
  ["1gb", undefined],
  ["1GB", undefined],
  ["1K", undefined],
  ["1mi", undefined],
  ["1.2.3", undefined],
  ["1e3Mi", undefined],
  ["constructor", undefined],
] as const)("%s → %s", ([text, expected]) => {
  expect(parseQuantity(text)).toBe(expected);
});
