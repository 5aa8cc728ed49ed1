import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";

/**
 * Resolves to the opened resource, or rejects with the reason of the call's end. A look-up may wait for any file system on its
 * path and cannot be cancelled: a resource that is opened after the end of the call is closed.
 */
export async function openUnlessAborted<Opened>(call: Call, opening: Promise<Opened>): Promise<Opened> {
  try {
    return await orAborted(call, opening);
  } catch (error) {
    if (call.signal.aborted) opening.then(close, () => undefined);
    throw error;
  }
}

function close(late: unknown): void {
  using _late = isDisposable(late) ? late : undefined;
}

function isDisposable(value: unknown): value is Disposable {
  return typeof value === "object" && value !== null && Symbol.dispose in value;
}
