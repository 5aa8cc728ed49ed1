import { join } from "node:path";
import { expect, it } from "vitest";
import { checkout } from "../images.ts";
import { filesOf, filesTagged, ringOf } from "./rings.ts";

it("a file is found by its path from the checkout and by any other path", () => {
  const file = "test/node/heal.test.ts";
  expect(ringOf(file)).toEqual({ ring: "node", file });
  expect(ringOf(join(checkout, file))).toEqual({ ring: "node", file });
});

it("what is no test file is refused with an example", () => {
  expect(() => ringOf("test/node/nothing.test.ts")).toThrow("is not a test file");
});

it("every ring has files, and smoke has some of the node ring", () => {
  for (const ring of ["unit", "wire", "cluster", "node", "stores", "node-end"] as const) {
    expect(filesOf(ring).length).toBeGreaterThan(0);
  }
  expect(filesTagged("node", "smoke").length).toBeGreaterThan(1);
  expect(filesTagged("node", "smoke").length).toBeLessThan(10);
});
