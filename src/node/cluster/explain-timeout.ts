import type { DriverError } from "../../core/errors.ts";
import type { Call } from "../../runtime/call.ts";

/**
 * Replaces the error of a wait that a deadline of the driver ended by the one that names what was missing. Other errors, such as
 * the cancellation by the caller or the end of the program, are thrown unchanged.
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
