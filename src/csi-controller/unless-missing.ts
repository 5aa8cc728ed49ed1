import { DriverError } from "../core/errors.ts";

/** undefined: the bucket is gone, which is what was wanted, or leaves nothing to be said. */
export async function unlessMissing<Found>(work: Promise<Found | undefined>): Promise<Found | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DriverError && error.kind === "missing") return undefined;
    throw error;
  }
}
