import { join } from "node:path";
import { expect, it } from "vitest";
import { checkout } from "../images.ts";
import { filesOf, filesTagged, ringOf, storesOf } from "./rings.ts";

it("a file is found by its path from the checkout and by any other path", () => {
  const file = "test/node/heal.test.ts";
  expect(ringOf(file)).toEqual({ ring: "node", file });
  expect(ringOf(join(checkout, file))).toEqual({ ring: "node", file });
});

it("what is no test file is refused with an example", () => {
  expect(() => ringOf("test/node/nothing.test.ts")).toThrow("is not a test file");
});

it("every ring has files, and smoke has some of the node ring", () => {
  for (const ring of ["unit", "wire", "cluster", "node", "stores", "matrix", "node-end"] as const) {
    expect(filesOf(ring).length).toBeGreaterThan(0);
  }
  expect(filesTagged("node", "smoke").length).toBeGreaterThan(1);
  expect(filesTagged("node", "smoke").length).toBeLessThan(10);
});

it("a file belongs to one ring only", () => {
  expect(filesOf("stores")).not.toEqual(expect.arrayContaining([...filesOf("matrix")]));
  expect(ringOf("test/stores/matrix/matrix.test.ts").ring).toBe("matrix");
});

it("a store is built only for files that start it", () => {
  expect(storesOf(["test/node/heal.test.ts", "test/node/key-rotation.test.ts"])).toEqual([]);
  expect(storesOf(["test/node/heal.test.ts", "test/node/stores.test.ts"])).toEqual(["minio"]);
  expect(storesOf(filesOf("stores"))).toEqual(["minio"]);
  expect(storesOf(filesOf("matrix"))).toEqual(["minio", "garage"]);
});
