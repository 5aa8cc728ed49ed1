/** The programs of the stores that test files start in their labs. */
import { garagePart, minioPart } from "../parts.ts";
import type { Progress } from "../progress.ts";
import { storesOf } from "./rings.ts";

/** Builds those that the files need. Gives the variables in which the tests find the directories of the programs. */
export async function storePrograms(
  signal: AbortSignal,
  progress: Progress,
  files: readonly string[],
): Promise<NodeJS.ProcessEnv> {
  const stores = storesOf(files);
  return {
    ...(stores.includes("minio") && { MINIO_PROGRAMS: await minioPart(signal, progress) }),
    ...(stores.includes("garage") && { GARAGE_PROGRAMS: await garagePart(signal, progress) }),
  };
}
