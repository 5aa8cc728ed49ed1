/** `./dev …`: finds the command, runs it, and turns what goes wrong into a sentence and an exit code. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Problem } from "./problem.ts";

/** Gives the exit code. */
export type Command = (signal: AbortSignal, args: readonly string[]) => Promise<number>;

/** Loaded when asked for: `./dev kubectl` must not wait for what only `./dev up` needs. */
const commands: Readonly<Record<string, () => Promise<Command>>> = {
  up: async () => (await import("./commands/up.ts")).up,
  down: async () => (await import("./commands/down.ts")).down,
  test: async () => (await import("./commands/test.ts")).test,
  check: async () => (await import("./commands/check.ts")).check,
  build: async () => (await import("./commands/build.ts")).build,
  bench: async () => (await import("./commands/bench.ts")).bench,
  kubectl: async () => (await import("./commands/in-lab.ts")).kubectl,
  helm: async () => (await import("./commands/in-lab.ts")).helm,
  logs: async () => (await import("./commands/in-lab.ts")).logs,
  shell: async () => (await import("./commands/in-lab.ts")).shell,
  env: async () => (await import("./commands/in-lab.ts")).env,
  forward: async () => (await import("./commands/forward.ts")).forward,
  load: async () => (await import("./commands/in-lab.ts")).load,
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
  const load = commands[name];
  if (load === undefined) {
    process.stderr.write(`there is no "./dev ${name}"\n→ use one of: ${Object.keys(commands).join(", ")}\n`);
    return 2;
  }
  try {
    const command = await load();
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
