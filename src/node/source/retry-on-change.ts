import { orAborted } from "../../kube/or-aborted.ts";
import type { Call } from "../../runtime/call.ts";

/** Something that can change an answer: it calls `wake` whenever it may have. */
export type Source = (wake: () => void) => Disposable;

/** Asks now and after every word of a source. Sources are heard before the first question, so nothing is missed. */
export async function retryOnChange<Answer>(
  call: Call,
  sources: readonly Source[],
  ask: () => Answer | undefined,
): Promise<Answer> {
  using heard = new DisposableStack();
  let news = Promise.withResolvers<void>();
  for (const source of sources) heard.use(source(() => news.resolve()));
  for (;;) {
    call.signal.throwIfAborted();
    news = Promise.withResolvers();
    const answer = ask();
    if (answer !== undefined) return answer;
    await orAborted(call, news.promise);
  }
}
