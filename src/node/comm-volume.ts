/** The node's end of the memory volume that it shares with a Mountpoint Pod: keys and wishes go in, failures come out. */
import { comm, type PodUid } from "../core/names.ts";
import { commDir } from "../core/target-path.ts";
import type { Descriptor } from "../linux/descriptor.ts";
import { Directory } from "../linux/directory.ts";
import { connect } from "../linux/fd-sender.ts";
import { isErrno } from "../runtime/errno.ts";

export interface CommVolumes {
  /** undefined: kubelet has not set it up yet, or has removed it already. */
  open(mountpointPod: PodUid): CommVolume | undefined;
}

export interface CommVolume extends Disposable {
  /** undefined: nobody listens. */
  connect(): Connection | undefined;
  /** Keeps these files in `credentials/`; one that has its content already is left alone. */
  keepCredentials(files: Readonly<Record<string, string>>): void;
  /** Tells the mounter that it may end, with success. */
  askToExit(): void;
  /** The end of what a mounter of 2.x left behind when its mount-s3 failed. */
  errorText(): string | undefined;
}

/** A connection to a mounter, or to the mount-s3 that it became. */
export interface Connection extends Disposable {
  readonly closed: Promise<"byPeer" | "byUs">;
  send(message: Uint8Array, device: Descriptor): void;
}

export function commVolumes(kubeletDir: string): CommVolumes {
  return {
    open: (mountpointPod) => {
      using undo = new DisposableStack();
      const directory = unless(["ENOENT"], () => Directory.open(commDir(kubeletDir, mountpointPod)));
      if (directory === undefined) return undefined;
      undo.use(directory);
      // Until kubelet has mounted the volume, and after it was unmounted, this is a directory on the node's disk.
      if (!directory.isInMemory) return undefined;
      undo.move();
      return commVolume(directory);
    },
  };
}

const errorLimitBytes = 4096;

function commVolume(directory: Directory): CommVolume {
  return {
    // EAGAIN: somebody else's connection waits to be accepted.
    connect: () => unless(["ENOENT", "ECONNREFUSED", "EAGAIN"], () => connect(directory, comm.socket)),
    keepCredentials: (files) => {
      using credentials = directory.subdirectory(comm.credentials, 0o750);
      for (const [name, content] of Object.entries(files)) {
        const known = credentials.readTail(name, Buffer.byteLength(content) + 1);
        if (known !== content) credentials.write(name, content, 0o640);
      }
    },
    askToExit: () => {
      if (!directory.has(comm.exit)) directory.write(comm.exit, "", 0o640);
    },
    errorText: () => directory.readTail(comm.error, errorLimitBytes),
    [Symbol.dispose]: () => directory[Symbol.dispose](),
  };
}

function unless<Answer>(codes: readonly string[], ask: () => Answer): Answer | undefined {
  try {
    return ask();
  } catch (error) {
    if (isErrno(error, ...codes)) return undefined;
    throw error;
  }
}
