/** What the machine must offer before anything is started. */
import { accessSync, constants, existsSync, statfsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { cacheDirectory } from "./cache.ts";
import { labsDirectory } from "./layout.ts";
import { Problem } from "./problem.ts";

const gibibyte = 1024 ** 3;
/** Sources, build caches and images of a first run; a lab from the cache needs a fraction. */
const firstRunBytes = 15 * gibibyte;
const laterRunBytes = 3 * gibibyte;

export async function checkMachine(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Problem("the lab needs root", "run ./dev as root");
  if (!existsSync("/dev/fuse")) {
    throw new Problem(
      "there is no /dev/fuse",
      "load the fuse module (modprobe fuse), or use a machine whose kernel has FUSE",
    );
  }
  try {
    accessSync("/dev/fuse", constants.R_OK | constants.W_OK);
  } catch (error) {
    throw new Problem("/dev/fuse cannot be opened", "allow this machine or container to use FUSE", { cause: error });
  }
  const cache = cacheDirectory();
  const first = !existsSync(cache);
  await mkdir(cache, { recursive: true });
  await mkdir(labsDirectory, { recursive: true });
  checkSpace(cache, first ? firstRunBytes : laterRunBytes);
  checkSpace(labsDirectory, laterRunBytes);
}

function checkSpace(directory: string, wanted: number): void {
  const { bavail, bsize } = statfsSync(directory);
  const free = bavail * bsize;
  if (free >= wanted) return;
  throw new Problem(
    `${directory} has ${inGib(free)} GiB free, the lab needs ${inGib(wanted)} GiB`,
    "free some space, or set S3_CSI_LAB_CACHE to a directory on a larger disk",
  );
}

function inGib(bytes: number): string {
  return (bytes / gibibyte).toFixed(1);
}
