import { readdirSync, readFileSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path/posix";
import { Directory } from "../../linux/directory.ts";
import { unmount } from "../../linux/fuse/fuse.ts";
import { mountTmpfs } from "../../linux/tmpfs.ts";
import { describeError, type Logger } from "../../runtime/log.ts";
import type { RecordStorage } from "./mount-records.ts";

/** Stores records as files on a tmpfs. If the tmpfs cannot be mounted, records do not survive a restart of the node plugin. */
export function tmpfsStorage(log: Logger, directory: string): RecordStorage & Disposable {
  try {
    mountTmpfs(directory);
  } catch (error) {
    log.info("mount records do not survive a restart: the tmpfs cannot be mounted", { directory, error });
    return { ...noStorage, [Symbol.dispose]: () => undefined };
  }
  const logFailure = (work: () => void) => {
    try {
      work();
    } catch (error) {
      log.info("a mount record could not be stored", { directory, error: describeError(error) });
    }
  };
  return {
    all: () =>
      new Map(
        readdirSync(directory)
          .filter(isRecordName)
          .map((name) => [name, readFileSync(join(directory, name), "utf8")]),
      ),
    write: (name, text) =>
      logFailure(() => {
        using opened = Directory.open(directory);
        // If an administrator has unmounted the tmpfs, the directory is on the disk, and the text contains credentials.
        if (!opened.isInMemory)
          throw new Error("the directory is not on a tmpfs any more: restart the node plugin, which mounts it again");
        opened.write(name, text, 0o600);
      }),
    remove: (name) => logFailure(() => rmSync(join(directory, name), { force: true })),
    // An empty tmpfs is unmounted, so that nothing is left after the driver is uninstalled. Otherwise the next node plugin needs it.
    [Symbol.dispose]: () =>
      logFailure(() => {
        if (readdirSync(directory).length > 0) return;
        unmount(directory);
        rmdirSync(directory);
      }),
  };
}

export const noStorage: RecordStorage = { all: () => new Map(), write: () => undefined, remove: () => undefined };

/** Directory.write makes unfinished files with a leading dot. */
function isRecordName(name: string): boolean {
  return !name.startsWith(".");
}
