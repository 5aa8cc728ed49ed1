/** The interface to the C addon in native/: kernel calls by name, and errors in the form of Node's system errors. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { getSystemErrorMessage, getSystemErrorName } from "node:util";
import { syscallNumbers } from "./kernel-abi.ts";

/** A string becomes a NUL-terminated copy, a Uint8Array its address, undefined a null pointer. */
type Argument = number | string | Uint8Array | undefined;

/** Makes a kernel call on the main thread. The call must not block. Throws a system error such as ENOENT. */
export function syscall(name: SyscallName, ...args: readonly Argument[]): number {
  return checked(addon().syscall(numberOf(name), ...args), name, args);
}

/**
 * Makes a kernel call that may block, or never return, on a thread of its own outside of libuv's pool. The call cannot be
 * cancelled and does not keep the event loop alive. The caller must limit the number of such calls.
 */
export async function detachedSyscall(name: SyscallName, ...args: readonly Argument[]): Promise<number> {
  const returned = addon().syscallDetached(numberOf(name), ...args);
  return checked(await (endsWithProcess.has(name) ? returned : counted(returned)), name, args);
}

/** Makes a kernel call in a short-lived child process with a new pid namespace. Throws if the call fails. */
export function syscallFromNewPids(name: SyscallName, ...args: readonly Argument[]): void {
  checked(addon().syscallFromNewPids(numberOf(name), ...args), name, args);
}

/**
 * Makes several kernel calls in order on one detached thread, up to the first that fails. A change of the thread itself, such as
 * its mount namespace, applies to the calls that follow and ends with the thread. Returns the result of the last call.
 */
export async function detachedSyscalls(...steps: readonly (readonly [SyscallName, ...Argument[]])[]): Promise<number> {
  const result = await counted(addon().syscallsDetached(steps.map(([name, ...args]) => [numberOf(name), ...args])));
  if (result >= 0) return result;
  const [name, ...args] = steps[Math.floor((-result - 1) / errnoRange)] ?? ["fcntl"];
  return checked(-((-result - 1) % errnoRange) - 1, name, args);
}

const errnoRange = 4096;

/** Calls that the kernel interrupts when the process exits. */
const endsWithProcess: ReadonlySet<SyscallName> = new Set(["ppoll"]);

let unreturned = 0;

async function counted<Result>(call: Promise<Result>): Promise<Result> {
  unreturned += 1;
  return await call.finally(() => (unreturned -= 1));
}

/**
 * Whether a waiting detached call may keep the process from exiting. When a process exits, the kernel removes a FUSE request that
 * the server has not read. For a request that the server has read, the kernel waits, even after SIGKILL, until the server
 * answers or the connection ends.
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

/** The message contains the strings among the arguments. They are paths and mount options, never secrets. */
function checked(result: number, name: string, args: readonly Argument[] = []): number {
  if (result >= 0) return result;
  const strings = args.filter((argument) => typeof argument === "string");
  const message = `${[name, ...strings].join(" ")}: ${getSystemErrorMessage(result)}`;
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

/** Loads the addon at the first call, so that programs which only import this file, such as unit tests, do not need it. */
function addon(): Addon {
  loaded ??= createRequire(import.meta.url)(addonPath()) as Addon;
  return loaded;
}

/** In the image the addon is in the directory of the bundle that contains this code; in a checkout in native/. */
function addonPath(): string {
  const paths = ["./syscall.node", "../../native/syscall.node"].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  );
  const found = paths.find((path) => existsSync(path));
  if (found === undefined) throw new Error(`the addon is at none of ${paths.join(", ")}: run "npm run native"`);
  return found;
}
