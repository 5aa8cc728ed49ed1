/** What the machine must offer before anything is started. */
import { closeSync, constants, existsSync, openSync, statfsSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { cacheDirectory } from "./cache.ts";
import { labsDirectory } from "./layout.ts";
import { Problem } from "./problem.ts";

const gibibyte = 1024 ** 3;
/** Sources, build caches and images of a first run; a lab from the cache needs a fraction. */
const firstRunBytes = 15 * gibibyte;
const laterRunBytes = 3 * gibibyte;
/** Major 10, minor 229, as every Linux has it. */
const fuseDevice = (10 << 8) | 229;

export async function checkMachine(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Problem("the lab needs root", "run ./dev as root");
  checkFuse();
  const cache = cacheDirectory();
  await mkdir(cache, { recursive: true });
  await mkdir(labsDirectory, { recursive: true });
  checkSpace(cache, existsSync(join(cache, "kubernetes")) ? laterRunBytes : firstRunBytes);
  checkSpace(labsDirectory, laterRunBytes);
}

function checkFuse(): void {
  const device = statSync("/dev/fuse", { throwIfNoEntry: false });
  if (device?.rdev !== fuseDevice) {
    throw new Problem(
      "there is no /dev/fuse",
      "load the fuse module (modprobe fuse), or use a machine whose kernel has FUSE",
    );
  }
  try {
    closeSync(openSync("/dev/fuse", constants.O_RDWR));
  } catch (error) {
    throw new Problem("/dev/fuse cannot be opened", "allow this machine or container to use FUSE", { cause: error });
  }
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
