import { DriverError } from "../core/errors.ts";

/** undefined instead of an error if the bucket no longer exists. */
export async function unlessMissing<Found>(work: Promise<Found | undefined>): Promise<Found | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof DriverError && error.kind === "missing") return undefined;
    throw error;
  }
}
