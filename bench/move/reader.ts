/** Reads files over and over, as a thread of its own, through the mounts of a container. Answers each message with what it has seen since the last. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { parentPort, workerData } from "node:worker_threads";

export interface Reading {
  /** Of one look-up, open, read and close. */
  readonly longestMs: number;
  readonly errors: number;
  /** When the file was first read from another file system than before, as Date.now() has it; undefined: it was not. */
  readonly changedAt: number | undefined;
}

interface Seen {
  longestMs: number;
  errors: number;
  changedAt: number | undefined;
}

const paths = workerData as readonly string[];
const buffer = Buffer.alloc(64);
const devices: (number | undefined)[] = [];
const nothing = (): Seen => ({ longestMs: 0, errors: 0, changedAt: undefined });
let seen = paths.map(nothing);

parentPort?.on("message", () => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  parentPort?.postMessage(seen);
  seen = paths.map(nothing);
});

function readAll(): void {
  for (const [at, path] of paths.entries()) {
    const began = performance.now();
    const device = deviceRead(path);
    const reading = seen[at] ?? nothing();
    if (device === undefined) reading.errors += 1;
    else if (devices[at] !== undefined && devices[at] !== device) reading.changedAt ??= Date.now();
    devices[at] = device ?? devices[at];
    reading.longestMs = Math.max(reading.longestMs, performance.now() - began);
  }
  setImmediate(readAll);
}

/** The file system that the file was read from; undefined: it could not be read. */
function deviceRead(path: string): number | undefined {
  try {
    const file = openSync(path, "r");
    try {
      return readSync(file, buffer) > 0 ? fstatSync(file).dev : undefined;
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}

readAll();
