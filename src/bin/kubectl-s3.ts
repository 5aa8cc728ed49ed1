/** `kubectl s3`: runs on a user's machine, with the rights of the user. */
import { CommanderError } from "commander";
import { printable } from "../cli/output/table.ts";
import { terminalOn } from "../cli/output/terminal.ts";
import { kubectlS3 } from "../cli/program.ts";
import { UserError } from "../cli/user-error.ts";
import { version } from "./version.ts";

const stop = new AbortController();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, () => stop.abort());
// `kubectl s3 list | head`: the reader has seen enough.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

const terminal = terminalOn(process.stdout, process.stderr, process.env["NO_COLOR"]);
const program = kubectlS3({ signal: stop.signal, terminal, version }, (code) => {
  process.exitCode = code;
});

// Not `await`: the plugin is one file without an extension, which Node 20 takes for CommonJS.
program.parseAsync().catch((error: unknown) => {
  process.exitCode = exitCodeOf(error);
});

function exitCodeOf(error: unknown): number {
  // Help, version and wrong flags: commander has printed them.
  if (error instanceof CommanderError) return error.exitCode;
  if (stop.signal.aborted) return 0;
  // Messages quote answers of servers and texts that tenants write.
  terminal.printError(`error: ${printable(error instanceof Error ? error.message : String(error))}\n`);
  if (error instanceof UserError) terminal.printError(`→ ${printable(error.fix)}\n`);
  return 1;
}
