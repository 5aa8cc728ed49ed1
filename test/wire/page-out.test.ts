import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { pageOutFiles } from "../../src/linux/process/page-out.ts";

it("pages out the program's own files, and the program continues", () => {
  expect(pageOutFiles()).toBeGreaterThan(10_000_000);
  expect(createHash("sha256").update("still here").digest("hex")).toMatch(/^[0-9a-f]{64}$/);
  expect(pageOutFiles()).toBeGreaterThan(10_000_000);
});
