import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { documents } from "./support/doc-blocks.ts";

const checkout = join(import.meta.dirname, "..");
const folders = ["src", "test", "lab", "bench", "scripts", "charts"];
const files = folders.flatMap((folder) =>
  readdirSync(join(checkout, folder), { recursive: true, encoding: "utf8" }).map((path) => `/${folder}/${path}`),
);

/** The documentation shortens paths of one room: `publish/publish.ts` is in src/node. */
function exists(named: string): boolean {
  return files.some((path) => path.endsWith(`/${named}`));
}

it("every source file that the documentation names exists", () => {
  const named = documents().flatMap((file) =>
    [...readFileSync(join(checkout, file), "utf8").matchAll(/`([\w./-]+\.ts)`/g)].map(([, path = ""]) => ({
      file,
      path,
    })),
  );
  expect(named.length).toBeGreaterThan(80);
  expect(named.filter(({ path }) => !exists(path))).toEqual([]);
});
