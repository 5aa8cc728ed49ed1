/** The rings of test/README.md: which files belong to each. */
import { globSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { checkout } from "../images.ts";
import { Problem } from "../problem.ts";

/** What vitest is told, too. */
export const includes = {
  unit: ["src/**/*.test.ts", "lab/**/*.test.ts", "test/*.test.ts", "test/simulation/*.test.ts"],
  wire: ["test/wire/**/*.test.ts"],
  cluster: ["test/cluster/**/*.test.ts", "test/chart/**/*.test.ts"],
  node: ["test/node/**/*.test.ts"],
  // Object stores that take minutes to build: only `./dev test long` and `./dev test stores` run it.
  stores: ["test/stores/*.test.ts"],
  // The same volumes on each of these stores, on real nodes: only `./dev test long` and `./dev test matrix` run it.
  matrix: ["test/stores/matrix/**/*.test.ts"],
  // What all files of the node ring left in a lab: runs after the last of them.
  "node-end": ["test/node-end/**/*.test.ts"],
} as const;

export type Ring = keyof typeof includes;

export function isRing(name: string): name is Ring {
  return name in includes;
}

export function filesOf(ring: Ring): readonly string[] {
  return globSync([...includes[ring]], { cwd: checkout }).toSorted();
}

/** The ring of a file, given as a path from here or from the checkout. */
export function ringOf(path: string): { readonly ring: Ring; readonly file: string } {
  const names = new Set([relative(checkout, resolve(path)), path]);
  for (const ring of Object.keys(includes).filter(isRing)) {
    const file = filesOf(ring).find((one) => names.has(one));
    if (file !== undefined) return { ring, file };
  }
  throw new Problem(`${path} is not a test file`, "name one as in ./dev test test/node/heal.test.ts");
}

/** Files with at least one test of this tag. */
export function filesTagged(ring: Ring, tag: string): readonly string[] {
  const isTagged = (file: string) => readFileSync(join(checkout, file), "utf8").includes(`tags: ["${tag}"]`);
  return filesOf(ring).filter(isTagged);
}

/** Stores of which a test may start one in its lab. They take minutes to build: only where a file asks for one. */
const startable = ["minio", "garage"] as const;
export type StartableStore = (typeof startable)[number];

/** Those that the files start: a file imports what starts a store itself, so that its text shows it. */
export function storesOf(files: readonly string[]): readonly StartableStore[] {
  const texts = files.map((file) => readFileSync(join(checkout, file), "utf8"));
  return startable.filter((store) => texts.some((text) => text.includes(`/support/${store}`)));
}
