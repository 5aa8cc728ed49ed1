import { expect, it } from "vitest";
import { realKeyOf } from "./real-key.ts";

/** Lists as a store that does not encode keys. */
function storeWith(...keys: readonly string[]) {
  const sorted = keys.toSorted();
  return async (prefix: string) =>
    sorted.find((key) => key.startsWith(prefix))?.replaceAll(/[^\t\n\r\u0020-\ufffd]/g, "\ufffd");
}

it.for([
  ["a\u0001b", "a\ufffdb"],
  ["dir/\u000b", "dir/\ufffd"],
  ["\ufffe\u001f/x\uffff", "\ufffd\ufffd/x\ufffd"],
  ["a\ufffdb", "a\ufffdb"],
] as const)("%j is found by its listing %j among others", async ([key, listed]) => {
  const others = ["a", "a\u0001", "a\u0001bc", "a\u0002c", "dir/\u000bx", "dir/\t"].filter((each) => each !== key);
  expect(await realKeyOf(listed, storeWith(key, ...others))).toBe(key);
});

it("a key that is gone is not found", async () => {
  expect(await realKeyOf("a\ufffdb", storeWith("a", "a\u0001c", "b"))).toBeUndefined();
});
