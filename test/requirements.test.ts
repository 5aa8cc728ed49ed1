import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { provingTests, requirementsFile, unknownIds, updated } from "../scripts/requirements.ts";

const document = readFileSync(requirementsFile, "utf8");

it("docs/requirements.md says what the tests show (if not: npm run requirements)", () => {
  expect(updated(document, provingTests())).toBe(document);
});

it("no test claims a requirement that is not listed", () => {
  expect(unknownIds(document, provingTests())).toEqual([]);
});

it("a requirement is proven as long as a test carries its id, and no longer", () => {
  const text = "| DS-1 | read-only holds | – | open |";
  const proven = updated(text, new Map([["DS-1", ["test/node/read-only.test.ts"]]]));
  expect(proven).toContain("| proven |");
  expect(updated(proven, new Map())).toBe(text);
});

it("a requirement with something missing is tested, and not proven", () => {
  const text = "| DS-1 | read-only holds | – | open |\n\n- DS-1: not seen to fail\n";
  const tested = updated(text, new Map([["DS-1", ["test/node/read-only.test.ts"]]]));
  expect(tested).toContain("| tested, see below |");
});
