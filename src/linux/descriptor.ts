import { closeSync, constants, openSync } from "node:fs";
import { O_PATH } from "./kernel-abi.ts";

/** An open file descriptor with one owner: closed once, when its scope ends, unless it was handed on. */
export class Descriptor implements Disposable {
  #fd: number | undefined;

  constructor(fd: number) {
    this.#fd = fd;
  }

  get fd(): number {
    if (this.#fd === undefined) throw new Error("the descriptor is closed");
    return this.#fd;
  }

  /** The number for a new owner, who closes it. */
  release(): number {
    const fd = this.fd;
    this.#fd = undefined;
    return fd;
  }

  [Symbol.dispose](): void {
    if (this.#fd !== undefined) closeSync(this.release());
  }
}

/**
 * A descriptor that only names a place. No request is sent to the file system, so this is safe on a hung mount; a
 * symbolic link at the end of the path is not followed but opened itself.
 */
export function openPath(path: string, flags = 0): Descriptor {
  return new Descriptor(openSync(path, O_PATH | constants.O_NOFOLLOW | flags));
}
