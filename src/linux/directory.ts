/**
 * Access for root to a directory that an untrusted process can write (SE-3). The directory is opened once, names are resolved
 * relative to that descriptor, and symbolic links are never followed. Calls are synchronous and assume a file system that
 * cannot hang, such as the tmpfs of a communication volume.
 */
import { randomUUID } from "node:crypto";
import {
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { DriverError } from "../core/errors.ts";
import { isErrno } from "../runtime/errno.ts";
import { Descriptor } from "./descriptor.ts";
import { TMPFS_MAGIC } from "./kernel-abi.ts";

export class Directory implements Disposable {
  readonly #descriptor: Descriptor;

  private constructor(path: string) {
    this.#descriptor = new Descriptor(openSync(path, constants.O_DIRECTORY | constants.O_NOFOLLOW));
  }

  static open(path: string): Directory {
    return new Directory(path);
  }

  /**
   * A short path to an entry, valid in this process while the directory is open. The kernel resolves its first part to the open
   * descriptor, even if the directory was renamed or its own path is too long.
   */
  pathOf(name: string): string {
    if (name === "" || name === "." || name === ".." || name.includes("/")) throw new Error(`not a file name: ${name}`);
    return `/proc/self/fd/${this.#descriptor.fd}/${name}`;
  }

  /** Whether the directory is on a tmpfs. Callers check this before they write data that must never be on a disk. */
  get isInMemory(): boolean {
    return statfsSync(`/proc/self/fd/${this.#descriptor.fd}`).type === TMPFS_MAGIC;
  }

  names(): readonly string[] {
    return readdirSync(`/proc/self/fd/${this.#descriptor.fd}`);
  }

  has(name: string): boolean {
    return lstatSync(this.pathOf(name), { throwIfNoEntry: false }) !== undefined;
  }

  /** When the content of an entry changed last; undefined: there is no such entry. */
  changedAt(name: string): Date | undefined {
    return lstatSync(this.pathOf(name), { throwIfNoEntry: false })?.mtime;
  }

  /** Opens a subdirectory as it is; undefined: it does not exist. Throws "denied" for a symbolic link. */
  existing(name: string): Directory | undefined {
    if (!this.has(name)) return undefined;
    return withoutLinks(name, () => new Directory(this.pathOf(name)));
  }

  /** Opens a subdirectory, and makes it first if it does not exist. Throws "denied" for a symbolic link. */
  subdirectory(name: string, mode: number): Directory {
    const path = this.pathOf(name);
    try {
      mkdirSync(path);
    } catch (error) {
      if (!isErrno(error, "EEXIST")) throw error;
    }
    const directory = withoutLinks(name, () => new Directory(path));
    this.#share(directory.#descriptor.fd, mode);
    return directory;
  }

  /** Replaces a file atomically: a reader sees the old content or the new one, never a part. */
  write(name: string, content: string, mode: number): void {
    const path = this.pathOf(name);
    const unfinished = this.pathOf(`.${name}.${randomUUID()}`);
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL; // O_EXCL follows no link
    using file = new Descriptor(openSync(unfinished, flags, 0o600));
    using undo = new DisposableStack();
    undo.defer(() => rmSync(unfinished, { force: true }));
    this.#share(file.fd, mode);
    writeFileSync(file.fd, content);
    fsyncSync(file.fd);
    renameSync(unfinished, path);
    undo.move();
  }

  /** Reads the end of a regular file; undefined if the file does not exist. Throws "denied" for any other file type. */
  readTail(name: string, limitBytes: number): string | undefined {
    if (!this.has(name)) return undefined;
    // Without O_NONBLOCK, opening a FIFO waits for a writer.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    using file = new Descriptor(withoutLinks(name, () => openSync(this.pathOf(name), flags)));
    const status = fstatSync(file.fd);
    if (!status.isFile()) throw refusal(name);
    const bytes = Buffer.alloc(Math.min(status.size, limitBytes));
    const length = readSync(file.fd, bytes, 0, bytes.length, status.size - bytes.length);
    return bytes.toString("utf8", 0, length);
  }

  /** Removes a file. Succeeds if the file does not exist, or if the name is too long for any file. */
  remove(name: string): void {
    try {
      rmSync(this.pathOf(name), { force: true });
    } catch (error) {
      if (!isErrno(error, "ENAMETOOLONG")) throw error;
    }
  }

  [Symbol.dispose](): void {
    this.#descriptor[Symbol.dispose]();
  }

  /** kubelet sets the group of the volume to the Pod's fsGroup. Through that group the Pod's user can read files of root. */
  #share(fd: number, mode: number): void {
    fchownSync(fd, process.geteuid?.() ?? 0, fstatSync(this.#descriptor.fd).gid);
    fchmodSync(fd, mode);
  }
}

function withoutLinks<Opened>(name: string, open: () => Opened): Opened {
  try {
    return open();
  } catch (error) {
    // For a symbolic link, open with O_DIRECTORY returns ENOTDIR, and any other open with O_NOFOLLOW returns ELOOP.
    if (isErrno(error, "ELOOP", "ENOTDIR")) throw refusal(name, error);
    throw error;
  }
}

function refusal(name: string, cause?: unknown): DriverError {
  return new DriverError("denied", `${name} in the Mountpoint Pod's volume is not what it should be`, { cause });
}
