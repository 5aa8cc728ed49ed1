import type { Call } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";

/** Subscribes to something that may change the answer; `wake` is called after each change. */
export type ChangeSource = (wake: () => void) => Disposable;

/**
 * Calls `ask` now and after every change until it answers. Subscribes before the first call of `ask`, so that no change is
 * missed. Rejects with the call's reason when the call ends.
 */
export async function retryOnChange<Answer>(
  call: Call,
  sources: readonly ChangeSource[],
  ask: () => Answer | undefined,
): Promise<Answer> {
  using subscriptions = new DisposableStack();
  let changed = Promise.withResolvers<void>();
  for (const source of sources) subscriptions.use(source(() => changed.resolve()));
  for (;;) {
    call.signal.throwIfAborted();
    changed = Promise.withResolvers();
    const answer = ask();
    if (answer !== undefined) return answer;
    await orAborted(call, changed.promise);
  }
}
