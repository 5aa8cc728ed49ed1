import type { Call } from "../runtime/call.ts";
import type { KubeClient, Ref } from "./client/client.ts";
import type { Kind, KubeObject } from "./kinds.ts";
import { unlessChanged } from "./unless-changed.ts";

export interface Finalized {
  readonly kind: Kind<KubeObject>;
  readonly ref: Ref;
  readonly finalizer: string;
}

type Client = Pick<KubeClient, "get" | "patch">;

/**
 * Puts a finalizer on an object, and is safe to repeat. "gone": there is no such object. "ending": the object is being deleted, and
 * the API server accepts no new finalizers for it. Changes of other writers are kept: after a conflict the object is read again.
 */
export async function addFinalizer(call: Call, client: Client, what: Finalized): Promise<"added" | "gone" | "ending"> {
  for (;;) {
    const object = await client.get(call, what.kind, what.ref);
    if (object === undefined) return "gone";
    const { finalizers = [], deletionTimestamp } = object.metadata;
    if (finalizers.includes(what.finalizer)) return "added";
    if (deletionTimestamp !== undefined) return "ending";
    if (await replaced(call, client, { ...what, object }, [...finalizers, what.finalizer])) return "added";
  }
}

/** Removes a finalizer, and is safe to repeat. Afterwards the object does not have the finalizer, or is gone. */
export async function removeFinalizer(call: Call, client: Client, what: Finalized): Promise<void> {
  for (;;) {
    const object = await client.get(call, what.kind, what.ref);
    const { finalizers = [] } = object?.metadata ?? {};
    if (object === undefined || !finalizers.includes(what.finalizer)) return;
    const others = finalizers.filter((each) => each !== what.finalizer);
    if (await replaced(call, client, { ...what, object }, others)) return;
  }
}

/** A merge patch replaces the whole list, so the write is conditional on the version that was read. */
async function replaced(
  call: Call,
  client: Client,
  { kind, ref, object }: Finalized & { readonly object: KubeObject },
  finalizers: readonly string[],
): Promise<boolean> {
  const { uid, resourceVersion } = object.metadata;
  return await unlessChanged(client.patch(call, kind, ref, { metadata: { uid, resourceVersion, finalizers } }));
}
