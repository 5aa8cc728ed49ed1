import { expect, it } from "vitest";
import type { TestResult } from "./results.ts";
import { matrixOf } from "./store-matrix.ts";

const file = "test/stores/matrix/matrix.test.ts";
const passed = (name: string): TestResult => ({ name: `${file}: ${name}`, verdict: "passed", reasons: [] });
const versions = { minio: "1", garage: "2", versitygw: "3" };

it("a row for each feature, a column for each store that ran, and what was expected of those that passed", () => {
  const results = [
    passed("minio > ID-6 a static volume: works"),
    passed("garage > ID-6 a static volume: works"),
    passed("garage > ID-6 an empty file: is refused, HTTP 400"),
  ];
  expect(matrixOf({ results }, versions)).toEqual({
    versions: { minio: "1", garage: "2" },
    features: {
      "a static volume": { minio: "works", garage: "works" },
      "an empty file": { garage: "is refused, HTTP 400" },
    },
  });
});

it("what failed, or did not run, is not what was expected; what is no test of the matrix is left out", () => {
  const results = [
    { ...passed("minio > ID-6 purge: works"), verdict: "failed" },
    { ...passed("minio > ID-6 healing: works"), verdict: "skipped" },
    { ...passed("minio > ID-6 rotation: works"), verdict: "passed on the second try only" },
    { name: `${file}: set-up`, verdict: "failed", reasons: [] },
  ] as const;
  expect(matrixOf({ results }, versions)).toEqual({
    versions: { minio: "1" },
    features: { purge: { minio: "**failed**" }, healing: { minio: "**not run**" }, rotation: { minio: "works" } },
  });
});
