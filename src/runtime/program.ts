/** What the programs have in common: they end on a signal, and log why they ended. */
import { jsonLogger, type Logger } from "./log.ts";

export function stderrLogger(verbosity: number): Logger {
  return jsonLogger((line) => process.stderr.write(line), verbosity);
}

/**
 * Runs a program until it is done, fails, or gets SIGTERM or SIGINT. A failure sets the exit code 1. A signal is not a failure: that
 * is how kubelet stops a container.
 */
export async function runProgram(name: string, main: (stop: AbortSignal) => Promise<void>): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.once(signal, () => stop.abort(new DOMException(`received ${signal}`, "AbortError")));
  }
  const log = stderrLogger(0);
  try {
    await main(stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) {
      log.error("program failed", { program: name, error, hint: hintOf(error) });
      process.exitCode = 1;
    }
  }
  if (stop.signal.aborted) log.info("program stopped", { program: name, because: stop.signal.reason });
}

function hintOf(error: unknown): unknown {
  return error instanceof Error && "hint" in error ? error.hint : undefined;
}
