/** `./dev …`: finds the command, runs it, and turns what goes wrong into a sentence and an exit code. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bench } from "./commands/bench.ts";
import { build } from "./commands/build.ts";
import { check } from "./commands/check.ts";
import { down } from "./commands/down.ts";
import { env, helm, kubectl, load, logs, shell } from "./commands/in-lab.ts";
import { test } from "./commands/test.ts";
import { up } from "./commands/up.ts";
import { Problem } from "./problem.ts";

/** Gives the exit code. */
export type Command = (signal: AbortSignal, args: readonly string[]) => Promise<number>;

const commands: Readonly<Record<string, Command>> = {
  up,
  down,
  test,
  check,
  build,
  bench,
  kubectl,
  helm,
  logs,
  shell,
  env,
  load,
};

const here = dirname(fileURLToPath(import.meta.url));
const help = () => readFileSync(join(here, "help.txt"), "utf8");

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.on(name, () => stop.abort(new DOMException(`stopped by ${name}`, "AbortError")));
}

process.exitCode = await main(process.argv.slice(2));

async function main([name = "help", ...args]: readonly string[]): Promise<number> {
  if (name === "help" || name === "--help" || name === "-h") {
    process.stdout.write(help());
    return 0;
  }
  const command = commands[name];
  if (command === undefined) {
    process.stderr.write(`there is no "./dev ${name}"\n→ use one of: ${Object.keys(commands).join(", ")}\n`);
    return 2;
  }
  try {
    return await command(stop.signal, args);
  } catch (error) {
    return explain(error);
  }
}

function explain(error: unknown): number {
  if (stop.signal.aborted) {
    process.stderr.write("\nstopped; the same command can be run again\n");
    return 130;
  }
  if (error instanceof Problem) {
    process.stderr.write(`${error.message}\n→ ${error.fix}\n`);
    return 1;
  }
  const causes: string[] = [];
  for (let at: unknown = error; at instanceof Error; at = at.cause) causes.push(at.message);
  process.stderr.write(`${causes.join("\n  because: ") || String(error)}\n`);
  return 1;
}
