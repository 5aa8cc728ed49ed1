import { expect, it } from "vitest";
import { fitted } from "./fitted.ts";

const body = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}\n`).join("");
const foot = "\nlab\n";

it("a text that fits stays as it is", () => {
  expect(fitted(body(5), foot, { columns: 80, rows: 8 })).toBe(body(5) + foot);
});

it("what does not fit is counted", () => {
  expect(fitted(body(6), foot, { columns: 80, rows: 8 })).toBe(`${body(4)}… 2 more lines: kubectl s3 tree\n${foot}`);
});

it("lines that wrap take several rows, and colours none", () => {
  const wide = `${"x".repeat(25)}\n`;
  expect(fitted(wide + body(4), foot, { columns: 10, rows: 8 })).toBe(
    `${wide}line 0\n… 3 more lines: kubectl s3 tree\n${foot}`,
  );
  const coloured = `\u001B[31m${"y".repeat(10)}\u001B[39m\n`.repeat(5);
  expect(fitted(coloured, foot, { columns: 10, rows: 8 })).toBe(coloured + foot);
});
