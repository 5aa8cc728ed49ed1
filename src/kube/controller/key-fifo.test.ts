import { expect, it } from "vitest";
import { KeyFifo } from "./key-fifo.ts";

function all(keys: KeyFifo<string>): readonly string[] {
  const taken: string[] = [];
  for (let key = keys.shift(); key !== undefined; key = keys.shift()) taken.push(key);
  return taken;
}

it("gives keys in the order of arrival, each once", () => {
  const keys = new KeyFifo<string>();
  for (const key of ["a", "b", "a", "c"]) keys.push(key);
  expect(keys.size).toBe(3);
  expect(all(keys)).toEqual(["a", "b", "c"]);
  expect(keys.size).toBe(0);
});

it("gives no key that was deleted, and a key that came back once", () => {
  const keys = new KeyFifo<string>();
  for (const key of ["a", "b", "c"]) keys.push(key);
  keys.delete("a");
  keys.delete("b");
  expect(keys.has("a")).toBe(false);
  keys.push("b");
  expect(all(keys)).toEqual(["b", "c"]);
});

it("keeps the order over many takes, while others arrive", () => {
  const keys = new KeyFifo<string>();
  const taken: string[] = [];
  for (let at = 0; at < 10_000; at += 1) {
    keys.push(`key-${at}`);
    if (at % 3 === 0) taken.push(keys.shift() ?? "");
  }
  taken.push(...all(keys));
  expect(taken).toEqual(Array.from({ length: 10_000 }, (_, at) => `key-${at}`));
});
