/** The node's side of the communication volume: the node writes credentials and the exit file, a mounter of 2.x its error. */
import { type FSWatcher, watch } from "node:fs";
import { comm, type PodUid } from "../../core/names.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { Directory } from "../../linux/directory.ts";
import { connect } from "../../linux/socket/fd-sender.ts";
import { unlessErrno } from "../../runtime/errno.ts";
import { commDir } from "../domain/target-path.ts";
import type { Kernel } from "./kernel.ts";

export interface CommVolumes {
  /** undefined: kubelet has not mounted the volume yet, or has unmounted it already. */
  open(mountpointPod: PodUid): CommVolume | undefined;
  /** Calls the listener when kubelet mounts or unmounts the volume, and when a file in it is created or removed. */
  subscribe(mountpointPod: PodUid, listener: () => void): Disposable;
}

/** For metrics. */
export interface CredentialTimes {
  /** As `credentialsChangedAt` of the volume; undefined also if there is no volume. */
  credentialsChangedAt(mountpointPod: PodUid): Date | undefined;
}

export interface CommVolume extends Disposable {
  /** undefined: no mounter listens. */
  connect(): Connection | undefined;
  /** Writes these files to `credentials/`; a file that has its content already is not written. */
  writeCredentials(files: Readonly<Record<string, string>>): void;
  /** File names in `credentials/`; empty if the directory does not exist. */
  credentialFiles(): readonly string[];
  /** When credentials of this mount were written last: only a change writes them. undefined: they have not been written yet. */
  credentialsChangedAt(): Date | undefined;
  /** Asks the mounter to exit with code 0. */
  askToExit(): void;
  /** The end of the error file that a mounter of 2.x writes when its mount-s3 fails. */
  errorText(): string | undefined;
  /** Removes the error file, so that a later one belongs to the next attempt. */
  clearError(): void;
}

/** A connection to a mounter, or to the mount-s3 that it became. */
export interface Connection extends Disposable {
  readonly closed: Promise<"byPeer" | "byUs">;
  send(message: Uint8Array, device: Descriptor): void;
}

/** Above the number of Mountpoint Pods of any node. */
const mostTimes = 5000;

export function commVolumes(kubeletDir: string, kernel: Pick<Kernel, "onMountChange">): CommVolumes & CredentialTimes {
  // Each look into a volume is a dozen system calls, and a scrape asks for all volumes. Nobody else writes credentials.
  const times = new Map<PodUid, Date>();
  const open = (mountpointPod: PodUid) => {
    using undo = new DisposableStack();
    const directory = unlessErrno(["ENOENT"], () => Directory.open(commDir(kubeletDir, mountpointPod)));
    if (directory === undefined) return undefined;
    undo.use(directory);
    // Before kubelet mounts the volume, and after it is unmounted, the path is a directory on the node's disk.
    if (!directory.isInMemory) return undefined;
    undo.move();
    return commVolume(directory, () => times.delete(mountpointPod));
  };
  return {
    open,
    subscribe: (mountpointPod, listener) => changesIn(kernel, commDir(kubeletDir, mountpointPod), listener),
    credentialsChangedAt: (mountpointPod) => {
      const known = times.get(mountpointPod);
      if (known !== undefined) return known;
      using volume = open(mountpointPod);
      const changedAt = volume?.credentialsChangedAt();
      if (times.size >= mostTimes) times.clear();
      if (changedAt !== undefined) times.set(mountpointPod, changedAt);
      return changedAt;
    },
  };
}

/**
 * kubelet mounts the volume over a directory of the node's disk. inotify does not report a mount, and a watch of the covered
 * directory gets no events of the mounted one, so every change of the mount table makes a new watch.
 */
function changesIn(kernel: Pick<Kernel, "onMountChange">, directory: string, listener: () => void): Disposable {
  let files = watchFiles(directory, listener);
  const table = kernel.onMountChange(() => {
    files?.close();
    files = watchFiles(directory, listener);
    listener();
  });
  return {
    [Symbol.dispose]: () => {
      table[Symbol.dispose]();
      files?.close();
    },
  };
}

/** undefined: the directory does not exist, or the inotify limit is reached. Changes are then noticed through the API only. */
function watchFiles(directory: string, listener: () => void): FSWatcher | undefined {
  return unlessErrno(["ENOENT", "ENOSPC", "EMFILE"], () => {
    const files = watch(directory, { persistent: false }, listener);
    files.on("error", () => undefined); // the directory was removed: the mount table changes, too
    return files;
  });
}

const errorLimitBytes = 4096;
/** The driver writes fewer. Their times are read at every scrape, and nothing else should be in the directory. */
const credentialFileLimit = 16;

function commVolume(directory: Directory, onWritten: () => void): CommVolume {
  return {
    // EAGAIN: the backlog is full, another connection waits to be accepted.
    connect: () => unlessErrno(["ENOENT", "ECONNREFUSED", "EAGAIN"], () => connect(directory, comm.socket)),
    writeCredentials: (files) => {
      using credentials = directory.subdirectory(comm.credentials, 0o750);
      for (const [name, content] of Object.entries(files)) {
        const known = credentials.readTail(name, Buffer.byteLength(content) + 1);
        if (known === content) continue;
        // Also if the write fails half-way.
        onWritten();
        credentials.write(name, content, 0o640);
      }
    },
    credentialFiles: () => {
      if (!directory.has(comm.credentials)) return [];
      using credentials = directory.subdirectory(comm.credentials, 0o750);
      return credentials.names();
    },
    credentialsChangedAt: () => {
      using credentials = directory.existing(comm.credentials);
      if (credentials === undefined) return undefined;
      const names = credentials.names().slice(0, credentialFileLimit);
      const times = names.flatMap((name) => credentials.changedAt(name)?.getTime() ?? []);
      return times.length === 0 ? undefined : new Date(Math.max(...times));
    },
    askToExit: () => {
      if (!directory.has(comm.exit)) directory.write(comm.exit, "", 0o640);
    },
    errorText: () => directory.readTail(comm.error, errorLimitBytes),
    clearError: () => directory.remove(comm.error),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}
