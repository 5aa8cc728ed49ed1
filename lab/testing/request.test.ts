import { join } from "node:path";
import { expect, it } from "vitest";
import { checkout } from "../images.ts";
import { askedFor, isByName } from "./request.ts";

const heal = "test/node/heal.test.ts";

it.for([
  { words: [], args: [], asked: { what: "everything", args: [] } },
  { words: ["smoke"], args: [], asked: { what: "smoke", args: [] } },
  { words: ["node"], args: [], asked: { what: "node", args: [] } },
  { words: ["node"], args: ["-t", "heal"], asked: { what: "node", args: ["-t", "heal"] } },
  { words: ["node", "heal.test"], args: [], asked: { what: "node", files: [heal], args: [] } },
  { words: [heal], args: ["-t", "LC-1"], asked: { what: "node", files: [heal], args: ["-t", "LC-1"] } },
  { words: [`./${heal}`], args: [], asked: { what: "node", files: [heal], args: [] } },
  { words: [join(checkout, heal)], args: [], asked: { what: "node", files: [heal], args: [] } },
])("$words -- $args", ({ words, args, asked }) => {
  expect(askedFor(words, args)).toEqual(asked);
});

it.for([
  { words: ["nonsense"], args: [], problem: 'there is no ring "nonsense"' },
  { words: ["node", "nothing-like-it"], args: [], problem: "no file of the ring node is named like nothing-like-it" },
  { words: ["test/node/nothing.test.ts"], args: [], problem: "is not a test file" },
  { words: [heal, "test/wire/fuse.test.ts"], args: [], problem: "of the rings node and wire" },
  { words: [], args: ["-t", "x"], problem: "takes no further words: -t x" },
  { words: ["smoke", "heal"], args: [], problem: "takes no further words: heal" },
])("is refused: $words -- $args", ({ words, args, problem }) => {
  expect(() => askedFor(words, args)).toThrow(problem);
});

it("knows when tests are chosen by name", () => {
  expect([["-t", "x"], ["--testNamePattern=x"], ["--tags-filter=smoke"], []].map(isByName)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});
