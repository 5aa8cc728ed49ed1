import { defaultLab, parseArguments } from "../arguments.ts";
import { Lab } from "../lab.ts";

export async function down(signal: AbortSignal, args: readonly string[]): Promise<number> {
  const { options } = parseArguments(args, ["name"], ["all"]);
  const names = options.has("all") ? await Lab.names() : [options.get("name") ?? defaultLab];
  for (const name of names) {
    await Lab.remove(signal, name);
    process.stdout.write(`lab "${name}" is gone\n`);
  }
  return 0;
}
