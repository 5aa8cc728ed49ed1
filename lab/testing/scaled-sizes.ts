/** Sizes that `./dev test` keeps small, found in the sources: nothing is left to `./dev test long` silently. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkout } from "../images.ts";

/** As in `scaled("workloads that share a mount", 3, 20)` of test/support/scale.ts. */
const call = /\bscaled\(\s*"([^"]+)",\s*([^,()]+),\s*([^,()]+?),?\s*\)/g;

/** A line for each, such as `test/node/heal.test.ts: deaths in a row: 2 (long: 10)`. */
export function scaledSizes(): readonly string[] {
  const files = readdirSync(join(checkout, "test"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => join("test", name))
    .toSorted();
  return files.flatMap((file) => {
    const calls = readFileSync(join(checkout, file), "utf8").matchAll(call);
    return [...calls].map(([, what, here, full]) => `${file}: ${what}: ${here} (long: ${full})`);
  });
}
