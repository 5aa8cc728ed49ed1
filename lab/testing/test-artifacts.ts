/** What the rings need built before their labs start. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { buildArtifacts } from "../artifacts.ts";
import { checkout } from "../images.ts";
import { Lab } from "../lab.ts";
import { checkMachine } from "../machine.ts";
import { buildParts, csiSanityPart, type Parts } from "../parts.ts";
import type { Progress } from "../progress.ts";
import { attempt, run } from "../run.ts";
import { abandoned } from "./lab-names.ts";

interface Building {
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

export interface TestParts extends Parts {
  readonly csiSanity: string;
}

export interface TestArtifacts {
  readonly parts: TestParts;
  readonly archives: readonly string[];
}

export async function testParts({ signal, progress }: Building): Promise<TestParts> {
  await prepare(signal);
  const parts = await buildParts(signal, progress);
  return { ...parts, csiSanity: await csiSanityPart(signal, progress) };
}

export async function testArtifacts({ signal, progress }: Building): Promise<TestArtifacts> {
  await prepare(signal);
  const { parts, support, driver } = await buildArtifacts(signal, progress);
  const csiSanity = await csiSanityPart(signal, progress);
  return { parts: { ...parts, csiSanity }, archives: [...support, driver.archive] };
}

async function prepare(signal: AbortSignal): Promise<void> {
  await checkMachine();
  for (const name of abandoned(await Lab.names(), isRunning)) await Lab.remove(signal, name);
  await run(["npm", "run", "--silent", "native"], { signal, cwd: checkout });
  await Promise.all(["controller", "reconciler"].map((program) => compile(signal, program)));
}

/** Node keeps what it has compiled when a program ends by itself, as with a flag that it does not know; tests kill most programs. */
async function compile(signal: AbortSignal, program: string): Promise<void> {
  await attempt([process.execPath, join(checkout, "src/bin", `${program}.ts`), "--compile"], { signal });
}

function isRunning(pid: number): boolean {
  return existsSync(`/proc/${pid}`);
}
