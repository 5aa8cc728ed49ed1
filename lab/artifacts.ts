/** Everything that a lab with nodes is made of, built at the same time where that is possible. */
import { type DriverImage, driverImage, ensureBaseImage, supportImages } from "./images.ts";
import { buildParts, type Parts } from "./parts.ts";
import type { Progress } from "./progress.ts";

export interface Artifacts {
  readonly parts: Parts;
  /** Archives of everything a node needs besides the driver. */
  readonly support: readonly string[];
  readonly driver: DriverImage;
}

/** The base image is mostly downloaded, so it comes while the programs compile. */
export async function buildArtifacts(signal: AbortSignal, progress: Progress): Promise<Artifacts> {
  const [parts] = await Promise.all([buildParts(signal, progress), ensureBaseImage(signal, progress)]);
  const support = await supportImages(signal, parts, progress);
  return { parts, support, driver: await driverImage(signal, parts, progress) };
}
