import { accessSync, constants } from "node:fs";
import { constants as os } from "node:os";
import { DriverError } from "../../core/errors.ts";
import type { Descriptor } from "../descriptor.ts";
import {
  F_GETFL,
  F_SETFD,
  F_SETFL,
  kernelSigactionBytes,
  kernelSigsetBytes,
  O_NONBLOCK,
  SIG_BLOCK,
} from "../kernel-abi.ts";
import { syscall } from "../native.ts";

interface Program {
  readonly file: string;
  readonly args: readonly string[];
  /** The complete environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors that the program inherits in addition to the standard ones. */
  readonly inherits: readonly Descriptor[];
  /** Signals that are blocked in the program and stay pending. */
  readonly blockedSignals: readonly NodeJS.Signals[];
}

/**
 * Replaces this process by another program with execve; the process id stays. Does not return. Throws if the program does not
 * exist. Must run on the main thread, whose signal mask the program inherits.
 */
export function become({ file, args, env, inherits, blockedSignals }: Program): never {
  assertExecutable(file);
  for (const { fd } of inherits) syscall("fcntl", fd, F_SETFD, 0); // clears FD_CLOEXEC
  for (const fd of [0, 1, 2]) makeBlocking(fd);
  // Node ignores these two signals, and execve keeps ignored signals ignored.
  for (const signal of ["SIGPIPE", "SIGXFSZ"] as const) restoreDefault(os.signals[signal]);
  block(blockedSignals.map((signal) => os.signals[signal]));
  process.execve?.(file, [file, ...args], env);
  throw new Error("this Node cannot replace its process");
}

/** process.execve aborts this process with SIGABRT if the program does not exist. */
function assertExecutable(file: string): void {
  try {
    accessSync(file, constants.X_OK);
  } catch (cause) {
    throw new DriverError("missing", `${file} cannot be run`, { cause });
  }
}

/**
 * Node makes pipes non-blocking when process.stderr is accessed, which `import "node:util"` does. A program that inherits such a
 * pipe loses output when the reader is slow.
 */
function makeBlocking(fd: number): void {
  syscall("fcntl", fd, F_SETFL, syscall("fcntl", fd, F_GETFL) & ~O_NONBLOCK);
}

function restoreDefault(signal: number): void {
  syscall("rt_sigaction", signal, Buffer.alloc(kernelSigactionBytes), undefined, kernelSigsetBytes);
}

/** execve keeps the signal mask of the calling thread. */
function block(signals: readonly number[]): void {
  const mask = signals.reduce((bits, signal) => bits | (1n << BigInt(signal - 1)), 0n);
  const set = Buffer.alloc(kernelSigsetBytes);
  set.writeBigUInt64LE(mask);
  syscall("rt_sigprocmask", SIG_BLOCK, set, undefined, kernelSigsetBytes);
}
