import { ApiError } from "./client/api-error.ts";

/**
 * Whether a conditional write was done: one that names the version or the UID of the object that the caller read. Resolves with
 * false if the object has changed or is gone; the caller then reads it again. Every other failure rejects.
 */
export async function unlessChanged(write: Promise<unknown>, onChanged?: (error: ApiError) => void): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (!(error instanceof ApiError && (error.isConflict || error.isNotFound))) throw error;
    onChanged?.(error);
    return false;
  }
}
