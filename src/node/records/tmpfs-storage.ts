import { readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path/posix";
import { Directory } from "../../linux/directory.ts";
import { unmount } from "../../linux/fuse/fuse.ts";
import { mountMemory } from "../../linux/memory-directory.ts";
import { describeError, type Logger } from "../../runtime/log.ts";
import type { RecordStorage } from "./mount-records.ts";

/** Files in a directory in memory. Where there is none, nothing outlives the process, and nothing else is lost. */
export function tmpfsStorage(log: Logger, directory: string): RecordStorage & Disposable {
  try {
    mountMemory(directory);
  } catch (error) {
    log.info("after a restart dead mounts wait for kubelet: no directory in memory", { directory, error });
    return { ...noStorage, [Symbol.dispose]: () => undefined };
  }
  const told = (work: () => void) => {
    try {
      work();
    } catch (error) {
      log.info("what a mount needs could not be kept", { directory, error: describeError(error) });
    }
  };
  return {
    all: () =>
      new Map(
        readdirSync(directory)
          .filter(isName)
          .map((name) => [name, readFileSync(join(directory, name), "utf8")]),
      ),
    write: (name, text) =>
      told(() => {
        using place = Directory.open(directory);
        // Somebody may have unmounted it since: what is below lies on the disk, and keys are in the text.
        if (!place.isInMemory)
          throw new Error("the directory is not in memory any more: restart the node plugin, which mounts it again");
        place.write(name, text, 0o600);
      }),
    remove: (name) => told(() => rmSync(join(directory, name), { force: true })),
    // Whoever uninstalls the driver finds nothing of it; while anything is mounted, the next node plugin needs it.
    [Symbol.dispose]: () =>
      told(() => {
        if (readdirSync(directory).length > 0) return;
        unmount(directory);
        rmdirSync(directory);
      }),
  };
}

export const noStorage: RecordStorage = { all: () => new Map(), write: () => undefined, remove: () => undefined };

function isName(name: string): boolean {
  return !name.startsWith(".");
}
