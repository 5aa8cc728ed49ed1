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
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors that survive, beside the standard ones. */
  readonly inherits: readonly Descriptor[];
  /** Signals that the program will never see: they stay pending. */
  readonly blockedSignals: readonly NodeJS.Signals[];
}

/** Replaces this process by another program, with the same process id. Throws if there is no such program. */
export function become({ file, args, env, inherits, blockedSignals }: Program): never {
  assertExecutable(file);
  for (const { fd } of inherits) syscall("fcntl", fd, F_SETFD, 0); // without FD_CLOEXEC
  for (const fd of [0, 1, 2]) makeBlocking(fd);
  // Node ignores these two, and what is ignored stays ignored in the new program.
  for (const signal of ["SIGPIPE", "SIGXFSZ"] as const) restoreDefault(os.signals[signal]);
  block(blockedSignals.map((signal) => os.signals[signal]));
  process.execve?.(file, [file, ...args], env);
  throw new Error("this Node cannot replace its process");
}

/** process.execve ends this process with SIGABRT if the program is missing. */
function assertExecutable(file: string): void {
  try {
    accessSync(file, constants.X_OK);
  } catch (cause) {
    throw new DriverError("missing", `${file} cannot be run`, { cause });
  }
}

/**
 * Node makes pipes non-blocking when somebody looks at process.stderr, and `import "node:util"` is enough for that; a
 * program that inherits such a pipe loses what it prints when the reader is slow.
 */
function makeBlocking(fd: number): void {
  syscall("fcntl", fd, F_SETFL, syscall("fcntl", fd, F_GETFL) & ~O_NONBLOCK);
}

function restoreDefault(signal: number): void {
  syscall("rt_sigaction", signal, Buffer.alloc(kernelSigactionBytes), undefined, kernelSigsetBytes);
}

/** execve keeps the mask of the thread that calls it, and we are on the main thread. */
function block(signals: readonly number[]): void {
  const mask = signals.reduce((bits, signal) => bits | (1n << BigInt(signal - 1)), 0n);
  const set = Buffer.alloc(kernelSigsetBytes);
  set.writeBigUInt64LE(mask);
  syscall("rt_sigprocmask", SIG_BLOCK, set, undefined, kernelSigsetBytes);
}
