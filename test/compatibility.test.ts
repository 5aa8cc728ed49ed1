import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { readMatrix } from "../lab/testing/store-matrix.ts";
import { compatibilityFile, withMatrix } from "../scripts/compatibility.ts";

const document = readFileSync(compatibilityFile, "utf8");

it("ID-6 docs/compatibility.md has the results that the last recorded run left: npm run compatibility", () => {
  expect(document).toBe(withMatrix(document, readMatrix()));
});

it("ID-6 every cell of the recorded run is a result of a store with a version, and no result is a failure", () => {
  const { versions, features } = readMatrix();
  const stores = Object.keys(versions);
  for (const [feature, results] of Object.entries(features)) {
    for (const [store, result] of Object.entries(results)) {
      expect(stores).toContain(store);
      expect(result, `${feature} on ${store}`).toMatch(/^[^*|\n]+$/);
    }
  }
});

it("ID-6 the table has a line for each feature and a column for each store, in the order of the run", () => {
  const matrix = {
    versions: { minio: "1.2", garage: "2.5.0" },
    features: { "a static volume": { minio: "works", garage: "works" }, purge: { garage: "is refused" } },
  };
  expect(withMatrix(document, matrix)).toContain(
    ["", "minio 1.2", "garage 2.5.0"].join(" | ").trim() +
      " |\n| --- | --- | --- |\n| a static volume | works | works |\n| purge | – | is refused |\n",
  );
});
