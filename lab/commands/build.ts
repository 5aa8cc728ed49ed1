import { parseArguments } from "../arguments.ts";
import { driverImage } from "../images.ts";
import { checkMachine } from "../machine.ts";
import { buildParts } from "../parts.ts";
import { progressOn } from "../progress.ts";

export async function build(signal: AbortSignal, args: readonly string[]): Promise<number> {
  parseArguments(args, []);
  await checkMachine();
  const progress = progressOn(process.stderr);
  const { image, archive } = await driverImage(signal, await buildParts(signal, progress), progress);
  process.stdout.write(`${image}\n${archive}\n`);
  return 0;
}
