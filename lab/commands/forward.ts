/** `./dev forward PORT`: nothing leads into the network of a lab, so this carries connections from this machine to a port in it. */
import { takeLabName } from "../arguments.ts";
import type { Command } from "../cli.ts";
import { Problem } from "../problem.ts";
import { openLab, takeOver } from "./in-lab.ts";

export const forward: Command = (_signal, args) => {
  const { name, rest } = takeLabName(args);
  const lab = openLab(name);
  const port = portOf(rest[0]);
  process.stdout.write(`http://127.0.0.1:${port} leads into lab "${name}" until Ctrl-C\n`);
  const enter = lab.inNetwork(["socat", "STDIO", `TCP\\:127.0.0.1\\:${port}`]).join(" ");
  return takeOver(["socat", `TCP-LISTEN:${port},bind=127.0.0.1,fork,reuseaddr`, `EXEC:${enter}`], lab);
};

function portOf(given: string | undefined): number {
  const port = Number(given);
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new Problem(`"${given ?? ""}" is not a port`, "write ./dev forward PORT, such as 9090 for Prometheus");
}
