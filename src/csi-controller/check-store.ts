/** `--check-store`: asks the store once with the driver's settings and credentials, for `kubectl s3 doctor`. */
import { DriverError } from "../core/errors.ts";
import type { Call } from "../runtime/call.ts";
import type { OpenBuckets } from "./buckets.ts";

export interface StoreCheck {
  readonly ok: boolean;
  /** Cause and fix; absent if the store answers. */
  readonly problem?: string;
}

/** Never rejects with a DriverError: the failure is the result. */
export async function checkStore(call: Call, openBuckets: OpenBuckets): Promise<StoreCheck> {
  try {
    const buckets = await openBuckets(call, {}, undefined);
    // One page is enough.
    for await (const _ of buckets.names(call)) break;
    return { ok: true };
  } catch (error) {
    if (!(error instanceof DriverError)) throw error;
    // The store knows the credentials. An account that may not list buckets can still have rights on its own.
    if (error.kind === "denied") return { ok: true };
    const { message, hint } = error;
    return { ok: false, problem: hint === undefined ? message : `${message} ${hint}` };
  }
}
