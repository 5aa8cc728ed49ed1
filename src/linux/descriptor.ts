import { closeSync, constants, openSync } from "node:fs";
import { O_PATH } from "./kernel-abi.ts";

/** An open file descriptor with one owner. It is closed once, at the end of its scope, unless it is released. */
export class Descriptor implements Disposable {
  #fd: number | undefined;

  constructor(fd: number) {
    this.#fd = fd;
  }

  get fd(): number {
    if (this.#fd === undefined) throw new Error("the descriptor is closed");
    return this.#fd;
  }

  /** Transfers ownership: the caller must close the returned number. */
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
 * Opens a path with O_PATH: the descriptor only names a file. Guarantees that no request is sent to the file system at the end of
 * the path, so the call is safe for the root of a hung mount. A symbolic link at the end of the path is opened itself.
 */
export function openPath(path: string, flags = 0): Descriptor {
  return new Descriptor(openSync(path, O_PATH | constants.O_NOFOLLOW | flags));
}
