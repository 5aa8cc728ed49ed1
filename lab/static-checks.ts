/** What can be said about the sources without running them. */
import { checkout } from "./images.ts";
import type { Progress } from "./progress.ts";
import { attempt, run } from "./run.ts";
import type { Outcome, TestResult } from "./testing/results.ts";

const checks = [
  { name: "format", script: "format:check", fix: "npm run format" },
  { name: "lint", script: "lint", fix: "mend what it names" },
  { name: "types", script: "types", fix: "mend what it names" },
  { name: "unused code", script: "unused", fix: "delete what it names" },
] as const;

export async function staticChecks(signal: AbortSignal, progress: Progress): Promise<Outcome> {
  // The unit tests that follow load the addon.
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  // Each of them keeps about one core busy: side by side they take half the time on two.
  const results = await Promise.all(checks.map((check) => resultOf(signal, progress, check)));
  return { results, files: [] };
}

async function resultOf(
  signal: AbortSignal,
  progress: Progress,
  { name, script, fix }: (typeof checks)[number],
): Promise<TestResult> {
  const npm = ["npm", "run", "--silent", script];
  const { code, stdout, stderr } = await progress.task(name, () => attempt(npm, { signal, cwd: checkout }));
  if (code === 0) return { name, verdict: "passed", reasons: [] };
  process.stdout.write(`${stdout}${stderr}\n`);
  return { name, verdict: "failed", reasons: [fix] };
}
