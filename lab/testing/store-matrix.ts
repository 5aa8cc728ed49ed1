/**
 * What a whole run of the ring `matrix` has found, for docs/compatibility.md: one row for each thing that users do with a volume, one column
 * for each store. `npm run compatibility` writes the table from the file.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "../images.ts";
import { garageVersion } from "../parts.ts";
import { hasPassed, type Outcome, type TestResult } from "./results.ts";

const matrixFile = join(checkout, "docs", "store-matrix.json");

export interface StoreMatrix {
  /** Store → its version in the lab. */
  readonly versions: Readonly<Record<string, string>>;
  /** Feature → store → what the run has seen. */
  readonly features: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Names of tests of the ring: `FILE: STORE > ID-6 FEATURE: WHAT IS EXPECTED`. */
const testName = /: (?<store>[-a-z0-9]+) > ID-6 (?<feature>[^:]+): (?<expected>.+)$/;

export function matrixOf({ results }: Pick<Outcome, "results">, versions: StoreMatrix["versions"]): StoreMatrix {
  const features: Record<string, Record<string, string>> = {};
  const stores = new Set<string>();
  for (const result of results) {
    const { store = "", feature = "", expected = "" } = testName.exec(result.name)?.groups ?? {};
    if (store === "") continue;
    stores.add(store);
    features[feature] = { ...features[feature], [store]: hasPassed(result) ? expected : failed(result) };
  }
  return { versions: Object.fromEntries(Object.entries(versions).filter(([name]) => stores.has(name))), features };
}

function failed({ verdict }: TestResult): string {
  return verdict === "failed" ? "**failed**" : "**not run**";
}

export async function recordMatrix(outcome: Outcome): Promise<void> {
  const matrix = matrixOf(outcome, storeVersions());
  // A run that broke before its first test says nothing about stores.
  if (Object.keys(matrix.features).length === 0) return;
  writeFileSync(matrixFile, `${JSON.stringify(matrix, null, 2)}\n`);
  process.stdout.write(
    "docs/store-matrix.json has the results: npm run compatibility writes them into docs/compatibility.md\n",
  );
}

export function readMatrix(): StoreMatrix {
  return JSON.parse(readFileSync(matrixFile, "utf8")) as StoreMatrix;
}

function storeVersions(): StoreMatrix["versions"] {
  return {
    versitygw: goVersion("kubernetes", "github.com/versity/versitygw"),
    minio: goVersion("minio", "github.com/minio/minio"),
    garage: garageVersion,
  };
}

/** As the module of the part pins it, without the `v`. */
function goVersion(part: string, path: string): string {
  const lines = readFileSync(join(checkout, "lab/parts", part, "go.mod"), "utf8").split("\n");
  // The list of tools names the module, too, without a version.
  const words = lines.map((line) => line.trim().split(" "));
  const version = words.find(([name, pinned]) => name === path && pinned !== undefined)?.[1];
  if (version === undefined) throw new Error(`lab/parts/${part}/go.mod does not require ${path}`);
  return version.replace(/^v/, "");
}
