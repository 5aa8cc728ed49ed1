import type { DriverError } from "../../core/errors.ts";
import type { Call } from "../../runtime/call.ts";

/**
 * A wait that, when a limit of ours ends it, tells what was missing instead of how long it took. A caller that left, or
 * the end of the program, is another story and stays as it is.
 */
export async function explainTimeout<Found>(
  call: Call,
  missing: () => DriverError,
  wait: Promise<Found>,
): Promise<Found> {
  try {
    return await wait;
  } catch (error) {
    const { aborted, reason } = call.signal;
    if (aborted && reason instanceof DOMException && reason.name === "TimeoutError") throw missing();
    throw error;
  }
}
