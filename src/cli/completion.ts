/**
 * Completion of `kubectl s3 …`. kubectl's own completion runs a program called `kubectl_complete-s3` with the words so far, and
 * expects what cobra prints: a candidate on each line, with its description after a tab, and a directive at the end.
 */
import type { Command } from "commander";
import { buildTopology } from "../topology/build-topology.ts";
import { readCluster } from "./cluster/read-cluster.ts";
import type { Session } from "./program.ts";
import { namesOf } from "./select.ts";

/** ShellCompDirectiveNoFileComp: no command takes a file here. */
const noFiles = ":4\n";

export async function completions(program: Command, words: readonly string[], session: () => Session): Promise<string> {
  const typed = words.at(-1) ?? "";
  const before = words.slice(0, -1).filter((word) => !word.startsWith("-"));
  const command = program.commands.find((each) => each.name() === before[0]);
  const candidates = typed.startsWith("-")
    ? [...program.options, ...(command?.options ?? [])].map(({ long, description }) => `${long ?? ""}\t${description}`)
    : command === undefined
      ? visible(program).map((each) => `${each.name()}\t${each.description()}`)
      : await namesFor(command, before.length, session);
  return (
    candidates
      .filter((each) => each.startsWith(typed))
      .map((each) => `${each}\n`)
      .join("") + noFiles
  );
}

function visible(program: Command): readonly Command[] {
  return program.commands.filter((each) => !each.name().startsWith("__"));
}

/** A completion must not fail or hang a shell: without an answer there are no candidates. */
async function namesFor(command: Command, given: number, session: () => Session): Promise<readonly string[]> {
  if (command.registeredArguments.length < given) return [];
  try {
    const { signal, api, options } = session();
    const limited = AbortSignal.any([signal, AbortSignal.timeout(3000)]);
    const { volumes } = buildTopology(await readCluster(limited, api, options));
    return [...new Set(volumes.flatMap(namesOf))].toSorted();
  } catch {
    return [];
  }
}
