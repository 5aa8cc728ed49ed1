/** Writes the table of stores in docs/compatibility.md from docs/store-matrix.json, which a run of `./dev test matrix` leaves. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readMatrix, type StoreMatrix } from "../lab/testing/store-matrix.ts";

export const compatibilityFile = join(import.meta.dirname, "../docs/compatibility.md");

const begin = "<!-- Generated from docs/store-matrix.json by `npm run compatibility`. -->\n";
const end = "<!-- End of the generated table. -->\n";

/** The document with the table as the matrix is now. */
export function withMatrix(document: string, matrix: StoreMatrix): string {
  const [before, rest] = document.split(begin);
  const [, after] = rest?.split(end) ?? [];
  if (before === undefined || after === undefined) throw new Error("docs/compatibility.md has no place for the table");
  return `${before}${begin}\n${tableOf(matrix)}\n${end}${after}`;
}

function tableOf({ versions, features }: StoreMatrix): string {
  const stores = Object.keys(versions);
  if (stores.length === 0) return "No run is recorded yet.\n";
  const heads = stores.map((store) => `${store} ${versions[store]}`);
  const rows = Object.entries(features).map(([feature, seen]) =>
    row(feature, ...stores.map((store) => seen[store] ?? "–")),
  );
  return [row("", ...heads), row("---", ...stores.map(() => "---")), ...rows].join("");
}

function row(...cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |\n`;
}

if (import.meta.main) {
  writeFileSync(compatibilityFile, withMatrix(readFileSync(compatibilityFile, "utf8"), readMatrix()));
}
