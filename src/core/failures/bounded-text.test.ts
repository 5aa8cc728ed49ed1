import { expect, it } from "vitest";
import { bounded, boundedWithFix } from "./bounded-text.ts";

it("leaves a text alone that fits", () => {
  expect(bounded("é".repeat(512), 1024)).toBe("é".repeat(512));
  expect(boundedWithFix("no bucket", "Create it.", 1024)).toBe("no bucket. Create it.");
  expect(boundedWithFix("No bucket.", undefined, 1024)).toBe("No bucket.");
});

it.for(["a", "é", "€", "🪣"])("OP-4 counts bytes, and cuts no character in two: %s", (character) => {
  for (let limit = 100; limit < 108; limit += 1) {
    const text = bounded(character.repeat(200), limit);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(limit);
    expect(Buffer.byteLength(text)).toBeGreaterThan(limit - 4);
    expect(text.replaceAll(character, "")).toBe(" [cut]");
  }
});

it("OP-4 keeps the fix when the cause is cut", () => {
  const text = boundedWithFix("€".repeat(5000), "Read the log.", 1024);
  expect(text).toMatch(/^€+ \[cut\]\. Read the log\.$/);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024);
});

it("OP-4 a fix takes half of the text at most: the cause comes first", () => {
  const text = boundedWithFix("c".repeat(5000), "f".repeat(5000), 1024);
  expect(text).toMatch(/^c{400,} \[cut\]\. f{400,} \[cut\]$/);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1024);
});
