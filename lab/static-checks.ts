/** What can be said about the sources without running them. */
import { checkout } from "./images.ts";
import type { Progress } from "./progress.ts";
import { attempt, run } from "./run.ts";
import type { Counts } from "./test-counts.ts";

const checks = [
  { name: "format", script: "format:check", fix: "npm run format" },
  { name: "lint", script: "lint", fix: "mend what it names" },
  { name: "types", script: "types", fix: "mend what it names" },
  { name: "unused code", script: "unused", fix: "delete what it names" },
] as const;

export async function staticChecks(signal: AbortSignal, progress: Progress): Promise<Counts> {
  let failed = 0;
  // The unit tests that follow load the addon.
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  for (const { name, script, fix } of checks) {
    const finished = await progress.task(name, () =>
      attempt(["npm", "run", "--silent", script], { signal, cwd: checkout }),
    );
    if (finished.code === 0) continue;
    failed += 1;
    process.stdout.write(`${finished.stdout}${finished.stderr}\n${name} failed → ${fix}\n`);
  }
  return { passed: checks.length - failed, failed };
}
