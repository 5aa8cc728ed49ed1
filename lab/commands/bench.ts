/** `./dev bench NAME`: runs a benchmark in the lab that `./dev up` started. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { takeLabName } from "../arguments.ts";
import type { Command } from "../cli.ts";
import { checkout } from "../images.ts";
import { kwokPart, minioPart } from "../parts.ts";
import { Problem } from "../problem.ts";
import { progressOn } from "../progress.ts";
import { openLab, takeOver } from "./in-lab.ts";

export const bench: Command = async (signal, args) => {
  const { name, rest } = takeLabName(args);
  const [which = "", ...others] = rest;
  const script = join(checkout, "bench", which, "run.ts");
  if (which === "" || !existsSync(script)) {
    const known = readdirSync(join(checkout, "bench")).filter((one) =>
      existsSync(join(checkout, "bench", one, "run.ts")),
    );
    throw new Problem(`there is no benchmark "${which}"`, `use one of: ${known.join(", ")}`);
  }
  const lab = openLab(name);
  // Built out here: no registry is in reach from inside the lab.
  const programs = await programsFor(which, signal);
  return takeOver(lab.inNetwork(["env", ...programs, process.execPath, script, ...others]), lab);
};

async function programsFor(which: string, signal: AbortSignal): Promise<readonly string[]> {
  const progress = progressOn(process.stderr);
  if (which.startsWith("controller")) return [`KWOK=${await kwokPart(signal, progress)}`];
  return which === "pod-identity" ? [`MINIO_PROGRAMS=${await minioPart(signal, progress)}`] : [];
}
