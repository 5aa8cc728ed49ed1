/** The one seam to the C addon in native/: kernel calls by name, errors as Node's own system errors. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { getSystemErrorMessage, getSystemErrorName } from "node:util";
import { syscallNumbers } from "./kernel-abi.ts";

/** A string becomes a NUL-terminated copy, a Uint8Array its address, undefined a null pointer. */
type Argument = number | string | Uint8Array | undefined;

/** A kernel call that returns at once. Throws a system error such as ENOENT. */
export function syscall(name: SyscallName, ...args: readonly Argument[]): number {
  return checked(addon().syscall(numberOf(name), ...args), name, args);
}

/**
 * The same for a call that may wait, or never return: it gets a thread of its own, outside libuv's pool. Nothing can
 * interrupt it, and it does not keep the event loop alive.
 */
export async function detachedSyscall(name: SyscallName, ...args: readonly Argument[]): Promise<number> {
  const returned = addon().syscallDetached(numberOf(name), ...args);
  return checked(await (endsWithProcess.has(name) ? returned : counted(returned)), name, args);
}

/** The same by a short-lived child in a pid namespace of its own; answers no more than that it worked. */
export function syscallFromNewPids(name: SyscallName, ...args: readonly Argument[]): void {
  checked(addon().syscallFromNewPids(numberOf(name), ...args), name, args);
}

/**
 * Several in order on one thread, up to the first that fails. What a thread changes about itself, such as the mount
 * namespace it is in, holds for those that follow, and ends with it. Answers with the result of the last.
 */
export async function detachedSyscalls(...steps: readonly (readonly [SyscallName, ...Argument[]])[]): Promise<number> {
  const result = await counted(addon().syscallsDetached(steps.map(([name, ...args]) => [numberOf(name), ...args])));
  if (result >= 0) return result;
  const [name, ...args] = steps[Math.floor((-result - 1) / errnoRange)] ?? ["fcntl"];
  return checked(-((-result - 1) % errnoRange) - 1, name, args);
}

const errnoRange = 4096;

/** The kernel interrupts this wait when the process ends. */
const endsWithProcess: ReadonlySet<SyscallName> = new Set(["ppoll"]);

let unreturned = 0;

async function counted<Result>(call: Promise<Result>): Promise<Result> {
  unreturned += 1;
  return await call.finally(() => (unreturned -= 1));
}

/**
 * Whether a detached call waits that may keep the process from ending. The kernel takes back a FUSE request that the server
 * has not read when the process ends; one that the server has read is waited for, SIGKILL or not, until the server answers
 * or the connection ends.
 */
export function mayBeKeptFromEnding(): boolean {
  return unreturned > 0;
}

/** Sends bytes and one descriptor without blocking; answers how many bytes the socket took. */
export function sendDescriptor(socket: number, bytes: Uint8Array, descriptor: number): number {
  return checked(addon().sendDescriptor(socket, bytes, descriptor), "sendmsg");
}

/** Receives bytes without blocking (0 is the end) and adds the descriptors that came along, closed on exec. */
export function receiveDescriptors(socket: number, into: Uint8Array, descriptors: number[]): number {
  return checked(addon().receiveDescriptors(socket, into, descriptors), "recvmsg");
}

type SyscallName = keyof typeof syscallNumbers.x64;

function numberOf(name: SyscallName): number {
  if (process.arch !== "x64" && process.arch !== "arm64") throw new Error(`no syscall numbers for ${process.arch}`);
  return syscallNumbers[process.arch][name];
}

/** Strings among the arguments are paths and mount options, never secrets: they make the message useful. */
function checked(result: number, name: string, args: readonly Argument[] = []): number {
  if (result >= 0) return result;
  const words = args.filter((argument) => typeof argument === "string");
  const message = `${[name, ...words].join(" ")}: ${getSystemErrorMessage(result)}`;
  throw Object.assign(new Error(message), { code: getSystemErrorName(result), errno: result, syscall: name });
}

interface Addon {
  syscall(number: number, ...args: readonly Argument[]): number;
  syscallDetached(number: number, ...args: readonly Argument[]): Promise<number>;
  syscallFromNewPids(number: number, ...args: readonly Argument[]): number;
  syscallsDetached(steps: readonly (readonly [number, ...Argument[]])[]): Promise<number>;
  sendDescriptor(socket: number, bytes: Uint8Array, descriptor: number): number;
  receiveDescriptors(socket: number, into: Uint8Array, descriptors: number[]): number;
}

let loaded: Addon | undefined;

/** Loaded at the first call, so that what only imports us (unit tests, types) needs no compiler. */
function addon(): Addon {
  loaded ??= createRequire(import.meta.url)(addonPath()) as Addon;
  return loaded;
}

/** In the image the addon lies beside the bundle that contains this code; in a checkout in native/. */
function addonPath(): string {
  const places = ["./syscall.node", "../../native/syscall.node"].map((place) =>
    fileURLToPath(new URL(place, import.meta.url)),
  );
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`the addon is at none of ${places.join(", ")}: run "npm run native"`);
  return found;
}
