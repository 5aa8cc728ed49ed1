import type { Freshness } from "../../kube/watch/freshness.ts";
import { type Call, deadline } from "../../runtime/call.ts";

/** The other watches go on: while a list is read, its store shows no new objects. A failure is logged: the caller concludes nothing. */
export async function listAnew(
  call: Call,
  freshness: Pick<Freshness, "renew">,
  isMeant: (kind: string) => boolean,
): Promise<void> {
  using limited = deadline(call, 300_000, "the API server to list everything");
  try {
    await freshness.renew(limited, isMeant);
  } catch (error) {
    call.signal.throwIfAborted();
    call.log.error("failed to list everything anew", { error });
  }
}
