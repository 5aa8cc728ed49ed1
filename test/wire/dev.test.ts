/** What a newcomer meets who mistypes: one sentence, what to do, and no stack trace. */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";

const checkout = dirname(dirname(import.meta.dirname));

interface Answer {
  readonly code: number;
  readonly text: string;
}

function dev(args: readonly string[]): Promise<Answer> {
  return new Promise((resolve) => {
    const command = [join(checkout, "lab", "cli.ts"), ...args];
    execFile(process.execPath, command, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), text: `${stdout}${stderr}` });
    });
  });
}

it.for([
  { args: ["nonsense"], says: 'there is no "./dev nonsense"', fix: "→ use one of: up, down, test" },
  { args: ["up", "--nodes", "many"], says: "--nodes many is not a number of nodes", fix: "→ use a number" },
  { args: ["up", "--bogus"], says: "--bogus is not known", fix: "→ use one of: --name, --nodes" },
  { args: ["up", "--name"], says: "--name needs a value", fix: "→ write --name VALUE" },
  { args: ["up", "--name", "Not_A_Name"], says: "cannot be the name of a lab", fix: "→ use at most 20" },
  { args: ["down", "--name", "../x"], says: "cannot be the name of a lab", fix: "→ use at most 20" },
  { args: ["test", "nonsense"], says: 'there is no ring "nonsense"', fix: "→ use one of: static, unit" },
  { args: ["kubectl", "--name", "nowhere", "get"], says: 'no lab "nowhere" is running', fix: "→ start it: ./dev up" },
  { args: ["bench", "nonsense"], says: 'there is no benchmark "nonsense"', fix: "→ use one of: " },
])("./dev $args", async ({ args, says, fix }) => {
  const { code, text } = await dev(args);
  expect(code).not.toBe(0);
  expect(text).toContain(says);
  expect(text).toContain(fix);
  expect(text).not.toMatch(/^\s+at /m);
});

it("help needs no tools and succeeds", async () => {
  const { code, text } = await dev([]);
  expect(code).toBe(0);
  expect(text).toContain("./dev up");
});
