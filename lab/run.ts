/** Child processes that end with us, with their output at hand when they fail. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export interface RunOptions {
  readonly signal: AbortSignal;
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: string;
  /** Sees every line of both streams as it comes, for progress. */
  readonly onLine?: (line: string) => void;
}

export interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Thrown when a program ends with another code than 0; carries the end of what it said. */
export class CommandFailed extends Error {
  override readonly name = "CommandFailed";
  readonly finished: Finished;

  constructor(argv: readonly string[], finished: Finished) {
    super(`${argv.slice(0, 4).join(" ")} ended with code ${finished.code}: ${lastLines(finished)}`);
    this.finished = finished;
  }
}

/** Runs a program to its end and gives what it printed on stdout; any code but 0 is an error. */
export async function run(argv: readonly string[], options: RunOptions): Promise<string> {
  const finished = await attempt(argv, options);
  if (finished.code !== 0) throw new CommandFailed(argv, finished);
  return finished.stdout;
}

/** Runs a program to its end, whatever its code. */
export async function attempt(argv: readonly string[], options: RunOptions): Promise<Finished> {
  const [program, ...args] = argv;
  if (program === undefined) throw new TypeError("an empty command cannot be run");
  options.signal.throwIfAborted();
  const child = spawn(program, args, {
    cwd: options.cwd,
    env: options.env ?? process.env,
    stdio: [options.input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    signal: options.signal,
  });
  if (options.input !== undefined) child.stdin?.end(options.input);
  const stdout = collect(child.stdout, options.onLine);
  const stderr = collect(child.stderr, options.onLine);
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", (error) => reject(options.signal.aborted ? options.signal.reason : error));
    child.once("close", (exitCode, signal) => resolve(exitCode ?? (signal === null ? 1 : 128)));
  });
  return { code, stdout: await stdout, stderr: await stderr };
}

/** Large builds print megabytes: keep what a person could still read. */
const keptBytes = 4 * 1024 * 1024;

async function collect(stream: Readable | null, onLine: ((line: string) => void) | undefined): Promise<string> {
  if (stream === null) return "";
  let text = "";
  stream.setEncoding("utf8");
  if (onLine !== undefined) createInterface({ input: stream }).on("line", onLine);
  stream.on("data", (chunk: string) => {
    text = (text + chunk).slice(-keptBytes);
  });
  await new Promise<void>((resolve) => {
    stream.once("close", () => resolve());
  });
  return text;
}

function lastLines(finished: Finished): string {
  const text = finished.stderr.trim() || finished.stdout.trim() || "(no output)";
  return text.split("\n").slice(-6).join("\n");
}
