/**
 * How long the reconciler holds the event loop, and what it costs, where a few volumes are used on every one of many nodes: in one
 * process, without a server, cluster or lab. A second checkout is measured beside it in the same run, in turns.
 * Arguments: nodes, volumes on every node, foreign Pods with claims, foreign Pods without; --beside CHECKOUT; --rounds N; --flags="…", any
 * number of times, for flags of V8 other than those of the image; "A, above 48 MB B": A from the beginning, B when the heap is that large.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { growingProcess, returnedMemory } from "../../scripts/bundle.ts";
import { table } from "../table.ts";
import type { Reading } from "./loop-watch.ts";
import type { Size } from "./settled-cluster.ts";

type Line =
  | ({
      readonly phase: string;
      readonly passes: number;
      readonly requests: string;
      rssMb: number;
      leaderChanges: number;
    } & Reading)
  | { readonly memory: Readonly<Record<string, number>> };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    beside: { type: "string" },
    rounds: { type: "string", default: "1" },
    flags: { type: "string", multiple: true, default: [growingProcess.join(" ")] },
  },
});
const [nodes = 5000, volumes = 20, foreignWithClaims = 0, foreign = 0] = positionals.map(Number);
const size: Size = { nodes, volumes, foreignWithClaims, foreign };
const here = join(import.meta.dirname, "../..");
const variants = values.flags.flatMap((flags) => [
  ...(values.beside === undefined ? [] : [{ name: "beside", checkout: values.beside, flags }]),
  { name: "here", checkout: here, flags },
]);
const rows: Record<string, string>[] = [];
const emptyRow = { s: "", "CPU s": "", "longest turn, CPU ms": "", "longest gap, ms": "", "RSS, MB": "", passes: "" };
for (let round = 1; round <= Number(values.rounds); round += 1) {
  for (const variant of variants) await measure(variant, round);
}
process.stdout.write(`${nodes} nodes, ${volumes} volumes on each, ${foreignWithClaims} and ${foreign} foreign Pods\n`);
process.stdout.write(table(rows));

async function measure({ name, checkout, flags }: (typeof variants)[number], round: number): Promise<void> {
  const program = join(import.meta.dirname, "settled-program.ts");
  const [first = "", later = ""] = flags.split(", above ");
  const args = [...first.split(" ").filter(Boolean), program, checkout, JSON.stringify(size), later];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env: returnedMemory });
  const reconciler = [name, round, ...(values.flags.length > 1 ? [flags] : [])].join(" ");
  for await (const line of createInterface({ input: child.stdout })) note(reconciler, JSON.parse(line) as Line);
}

function note(reconciler: string, line: Line): void {
  const row =
    "memory" in line
      ? { what: "memory", ...emptyRow, requests: JSON.stringify(line.memory, (_, value: unknown) => rounded(value)) }
      : {
          what: line.phase,
          s: line.seconds.toFixed(1),
          "CPU s": line.cpuSeconds.toFixed(2),
          "longest turn, CPU ms": line.longestTurnMs.toFixed(0),
          "longest gap, ms": line.longestGapMs.toFixed(0),
          "RSS, MB": line.rssMb.toFixed(0),
          passes: String(line.passes),
          requests: line.requests,
          "leader changes": String(line.leaderChanges),
        };
  process.stderr.write(`${reconciler} ${JSON.stringify(row)}\n`);
  rows.push({ reconciler, ...row });
}

function rounded(value: unknown): unknown {
  return typeof value === "number" ? Math.round(value * 10) / 10 : value;
}
