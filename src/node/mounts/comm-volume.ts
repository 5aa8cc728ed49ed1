/** The node's end of the memory volume that it shares with a Mountpoint Pod: keys and wishes go in, failures come out. */
import { type FSWatcher, watch } from "node:fs";
import { comm, type PodUid } from "../../core/names.ts";
import type { Descriptor } from "../../linux/descriptor.ts";
import { Directory } from "../../linux/directory.ts";
import { connect } from "../../linux/socket/fd-sender.ts";
import { unlessErrno } from "../../runtime/errno.ts";
import { commDir } from "../domain/target-path.ts";
import type { Kernel } from "./kernel.ts";

export interface CommVolumes {
  /** undefined: kubelet has not set it up yet, or has removed it already. */
  open(mountpointPod: PodUid): CommVolume | undefined;
  /** From now on, whenever kubelet sets the volume up or takes it away, and whenever a file in it comes or goes. */
  subscribe(mountpointPod: PodUid, listener: () => void): Disposable;
}

export interface CommVolume extends Disposable {
  /** undefined: nobody listens. */
  connect(): Connection | undefined;
  /** Keeps these files in `credentials/`; one that has its content already is left alone. */
  writeCredentials(files: Readonly<Record<string, string>>): void;
  /** Names in `credentials/`; none if it is not there. */
  credentialFiles(): readonly string[];
  /** Tells the mounter that it may end, with success. */
  askToExit(): void;
  /** The end of what a mounter of 2.x left behind when its mount-s3 failed. */
  errorText(): string | undefined;
  /** Before a new attempt: what is there then is of this one. */
  clearError(): void;
}

/** A connection to a mounter, or to the mount-s3 that it became. */
export interface Connection extends Disposable {
  readonly closed: Promise<"byPeer" | "byUs">;
  send(message: Uint8Array, device: Descriptor): void;
}

export function commVolumes(kubeletDir: string, kernel: Pick<Kernel, "onMountChange">): CommVolumes {
  return {
    subscribe: (mountpointPod, listener) => changesIn(kernel, commDir(kubeletDir, mountpointPod), listener),
    open: (mountpointPod) => {
      using undo = new DisposableStack();
      const directory = unlessErrno(["ENOENT"], () => Directory.open(commDir(kubeletDir, mountpointPod)));
      if (directory === undefined) return undefined;
      undo.use(directory);
      // Until kubelet has mounted the volume, and after it was unmounted, this is a directory on the node's disk.
      if (!directory.isInMemory) return undefined;
      undo.move();
      return commVolume(directory);
    },
  };
}

/**
 * kubelet mounts the volume over a directory of the node's disk. inotify does not see that, and a watch on what lies
 * below hears nothing of what happens above, so every change of the mount table makes a new one.
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

/** undefined: the directory is not there, or there is no watch left for us; what the API tells must do then. */
function watchFiles(directory: string, listener: () => void): FSWatcher | undefined {
  return unlessErrno(["ENOENT", "ENOSPC", "EMFILE"], () => {
    const files = watch(directory, { persistent: false }, listener);
    files.on("error", () => undefined); // the directory went: the mount table tells that, too
    return files;
  });
}

const errorLimitBytes = 4096;

function commVolume(directory: Directory): CommVolume {
  return {
    // EAGAIN: somebody else's connection waits to be accepted.
    connect: () => unlessErrno(["ENOENT", "ECONNREFUSED", "EAGAIN"], () => connect(directory, comm.socket)),
    writeCredentials: (files) => {
      using credentials = directory.subdirectory(comm.credentials, 0o750);
      for (const [name, content] of Object.entries(files)) {
        const known = credentials.readTail(name, Buffer.byteLength(content) + 1);
        if (known !== content) credentials.write(name, content, 0o640);
      }
    },
    credentialFiles: () => {
      if (!directory.has(comm.credentials)) return [];
      using credentials = directory.subdirectory(comm.credentials, 0o750);
      return credentials.names();
    },
    askToExit: () => {
      if (!directory.has(comm.exit)) directory.write(comm.exit, "", 0o640);
    },
    errorText: () => directory.readTail(comm.error, errorLimitBytes),
    clearError: () => directory.remove(comm.error),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}
