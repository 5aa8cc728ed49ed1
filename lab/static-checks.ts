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
  // The unit tests that follow load the addon.
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  // Each of them keeps about one core busy: side by side they take half the time on two.
  const results = await Promise.all(
    checks.map(async (check) => {
      const npm = ["npm", "run", "--silent", check.script];
      return { ...check, finished: await progress.task(check.name, () => attempt(npm, { signal, cwd: checkout })) };
    }),
  );
  const failures = results.filter(({ finished }) => finished.code !== 0);
  for (const { finished } of failures) process.stdout.write(`${finished.stdout}${finished.stderr}\n`);
  const findings = failures.map(({ name, fix }) => `failed: ${name} → ${fix}`);
  return { passed: checks.length - failures.length, failed: failures.length, findings };
}
