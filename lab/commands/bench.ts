/** `./dev bench NAME`: runs a benchmark in the lab that `./dev up` started. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { takeLabName } from "../arguments.ts";
import type { Command } from "../cli.ts";
import { checkout } from "../images.ts";
import { Problem } from "../problem.ts";
import { openLab, takeOver } from "./in-lab.ts";

export const bench: Command = (_signal, args) => {
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
  return takeOver(lab.inNetwork([process.execPath, script, ...others]), lab);
};
