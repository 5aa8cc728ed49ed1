import * as fc from "fast-check";
import { expect, it } from "vitest";
import { LineSplitter } from "./lines.ts";

function linesOf(chunks: readonly Buffer[], limit = 1000): string[] {
  const splitter = new LineSplitter(limit);
  return chunks.flatMap((chunk) => [...splitter.push(chunk)]);
}

it("finds the same lines wherever the stream is cut, even within a character", () => {
  const line = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\n"));
  fc.assert(
    fc.property(fc.array(line), fc.array(fc.nat(200)), (lines, cuts) => {
      const whole = Buffer.from(lines.map((each) => `${each}\n`).join(""));
      const edges = [0, ...cuts.filter((cut) => cut < whole.length).toSorted((a, b) => a - b), whole.length];
      const chunks = edges.slice(1).map((edge, i) => whole.subarray(edges[i], edge));
      expect(linesOf(chunks, 100_000)).toEqual(lines);
    }),
  );
});

it("keeps an unfinished line to itself", () => {
  expect(linesOf([Buffer.from("a\nb")])).toEqual(["a"]);
});

it.for([
  { what: "in one chunk", chunks: ["12345678901"] },
  { what: "over many chunks", chunks: ["12345", "67890", "1"] },
  { what: "although it ends", chunks: ["12345678901\n"] },
])("refuses a line that is too long, $what", ({ chunks }) => {
  expect(() =>
    linesOf(
      chunks.map((chunk) => Buffer.from(chunk)),
      10,
    ),
  ).toThrow("longer than 10 bytes");
});

it("counts the limit per line", () => {
  expect(linesOf([Buffer.from("1234567890\n123456"), Buffer.from("7890\n")], 10)).toEqual(["1234567890", "1234567890"]);
});
