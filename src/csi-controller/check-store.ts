/** `--check-store`: asks every store once with the driver's settings and credentials, for `kubectl s3 doctor`. */
import { DriverError } from "../core/errors.ts";
import { defaultStore, type Store, type StoreName, type Stores } from "../core/stores/store.ts";
import type { Call } from "../runtime/call.ts";
import { describeError } from "../runtime/log.ts";
import type { Buckets, OpenBuckets } from "./buckets.ts";
import { isDriverKnownAt } from "./stores/driver-credentials.ts";

export interface StoresCheck {
  readonly ok: boolean;
  /** Cause and fix, of all stores that do not answer; absent if there is none. */
  readonly problem?: string;
  readonly stores: readonly StoreCheck[];
}

export interface StoreCheck {
  readonly name: StoreName;
  readonly endpointUrl: string;
  readonly result: "ok" | "failed" | "not tried";
  /** Cause and fix if it failed, or why it was not tried. */
  readonly problem?: string;
}

/** Rejects only if the call ends: failures are the result. */
export async function checkStores(call: Call, stores: Stores, openBuckets: OpenBuckets): Promise<StoresCheck> {
  const checks = await Promise.all(Array.from(stores.values(), (store) => checkStore(call, store, openBuckets)));
  const failed = checks.filter(({ result }) => result === "failed");
  if (failed.length === 0) return { ok: true, stores: checks };
  return { ok: false, problem: failed.map(described).join(" "), stores: checks };
}

async function checkStore(call: Call, store: Store, openBuckets: OpenBuckets): Promise<StoreCheck> {
  const { name, endpointUrl } = store;
  if (!isDriverKnownAt(store)) {
    const problem = "the driver has no credentials of its own for it: StorageClasses and volumes name Secrets";
    return { name, endpointUrl, result: "not tried", problem };
  }
  try {
    const buckets = await openBuckets(call, { store: name, secrets: {}, region: undefined });
    await listBuckets(call, buckets);
    return { name, endpointUrl, result: "ok" };
  } catch (error) {
    if (call.signal.aborted) throw error;
    // Also what is no refusal of a store, such as an API server that does not show the Secret: the others are checked all the same.
    const hint = error instanceof DriverError ? error.hint : undefined;
    const problem = describeError(error);
    return { name, endpointUrl, result: "failed", problem: hint === undefined ? problem : `${problem} ${hint}` };
  }
}

/** Resolves also if the store refuses the list: it knows the credentials, and their account can still have rights on its own buckets. */
async function listBuckets(call: Call, buckets: Buckets): Promise<void> {
  try {
    // One page is enough.
    for await (const _ of buckets.names(call)) break;
  } catch (error) {
    if (!(error instanceof DriverError && error.kind === "denied")) throw error;
  }
}

function described({ name, endpointUrl, problem }: StoreCheck): string {
  return name === defaultStore ? `${problem}` : `Store ${name} (${endpointUrl}): ${problem}`;
}
