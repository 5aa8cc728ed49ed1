/**
 * Runs a benchmark of two checkouts in turns, so that both see the same machine: `npm run bench-beside -- OTHER ROUNDS NAME …`.
 * OTHER is a checkout of the commit to compare with. Labs named "before" (started there) and "after" (started here) must run.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { percentile, table } from "../bench/table.ts";

const [other = "", rounds = "", name = "", ...args] = process.argv.slice(2);
if (other === "" || !/^[1-9]\d*$/.test(rounds) || name === "") {
  process.stderr.write("usage: npm run bench-beside -- OTHER ROUNDS NAME [ARGUMENTS]\n");
  process.exit(2);
}

interface Side {
  readonly lab: "before" | "after";
  readonly checkout: string;
  /** Key: label of the row and column. */
  readonly figures: Map<string, number[]>;
}

const sides: readonly [Side, Side] = [
  { lab: "before", checkout: other, figures: new Map() },
  { lab: "after", checkout: join(import.meta.dirname, ".."), figures: new Map() },
];

for (let round = 0; round < Number(rounds); round += 1) {
  // Who comes first changes, because a machine may get slower or faster during a round.
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
    process.stderr.write(`round ${round + 1} of ${rounds}, ${side.lab}\n`);
    const dev = join(side.checkout, "dev");
    const { stdout } = await promisify(execFile)(dev, ["bench", "--name", side.lab, name, ...args], {
      cwd: side.checkout,
      maxBuffer: 16 * 1024 * 1024,
    });
    for (const [label, figure] of figuresIn(stdout)) {
      side.figures.set(label, [...(side.figures.get(label) ?? []), figure]);
    }
  }
}

process.stdout.write(table([...sides[1].figures.keys()].map(compared)));

/** The numbers in the cells of all tables, by the label of their row and, if there are several, their column. */
function figuresIn(output: string): ReadonlyMap<string, number> {
  const rows = output
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| ---"))
    .map((line) => line.slice(2, -2).split(" | "));
  const found = new Map<string, number>();
  let header: readonly string[] = [];
  for (const row of rows) {
    const numbers = row.slice(1).map((cell) => Number.parseFloat(cell));
    if (numbers.every(Number.isNaN)) header = row;
    for (const [at, figure] of numbers.entries()) {
      if (!Number.isNaN(figure)) found.set(`${row[0]}, ${header[at + 1] ?? ""}`, figure);
    }
  }
  return found;
}

function compared(label: string): Readonly<Record<string, string>> {
  const [before, after] = sides.map(({ figures }) => percentile(figures.get(label) ?? [], 50)) as [number, number];
  return {
    what: label,
    before: String(before),
    after: String(after),
    ratio: (after / before).toFixed(2),
    [`all ${rounds} before`]: (sides[0].figures.get(label) ?? []).join(" "),
    [`all ${rounds} after`]: (sides[1].figures.get(label) ?? []).join(" "),
  };
}
