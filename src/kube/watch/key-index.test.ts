import { expect, it } from "vitest";
import { KeyIndex } from "./key-index.ts";

it("has the keys of each value, however many, in the order in which they were added", () => {
  const index = new KeyIndex();
  const keys = () => [...index.keys("node")];
  expect([keys(), index.count("node")]).toEqual([[], 0]);
  index.add("node", "a");
  index.add("node", "a");
  index.add("another", "z");
  expect([keys(), index.count("node")]).toEqual([["a"], 1]);
  index.add("node", "b");
  index.add("node", "c");
  expect([keys(), index.count("node")]).toEqual([["a", "b", "c"], 3]);
  index.remove("node", "b");
  index.remove("node", "unknown");
  expect([keys(), index.count("node")]).toEqual([["a", "c"], 2]);
  index.remove("node", "a");
  index.remove("node", "c");
  expect([keys(), index.count("node")]).toEqual([[], 0]);
  index.remove("another", "a");
  expect([...index.keys("another")]).toEqual(["z"]);
});
