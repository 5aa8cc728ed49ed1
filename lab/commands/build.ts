import { parseArguments } from "../arguments.ts";
import { buildArtifacts } from "../artifacts.ts";
import { checkMachine } from "../machine.ts";
import { progressOn } from "../progress.ts";

export async function build(signal: AbortSignal, args: readonly string[]): Promise<number> {
  parseArguments(args, []);
  await checkMachine();
  const { driver } = await buildArtifacts(signal, progressOn(process.stderr));
  process.stdout.write(`${driver.image}\n${driver.archive}\n`);
  return 0;
}
