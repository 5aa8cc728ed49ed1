/** Turns an async method into a handler of grpc-js. Callbacks, cancellation and the log line of a call are only here. */
import { type handleUnaryCall, type ServerUnaryCall, status } from "@grpc/grpc-js";
import type { Call } from "../runtime/call.ts";
import { inBackground } from "../runtime/in-background.ts";
import { redacted } from "./redact.ts";
import { CallerLeft, type Failure, toStatus } from "./status.ts";

export type UnaryMethod<Request, Response> = (call: Call, request: Request) => Promise<Response>;

/**
 * Guarantees one answer and one log line for every call, also if the method throws. The call of the method is aborted when the
 * caller cancels, its deadline passes, or `server` is aborted; the method must stop then, and undo what it began.
 */
export function unary<Request extends object, Response>(
  server: Call,
  method: UnaryMethod<Request, Response>,
): handleUnaryCall<Request, Response> {
  return (rpc, reply) => {
    const answered = answer(server, rpc, method).then(([failure, response]) => reply(failure, response));
    inBackground(server.log, "answering a call", answered);
  };
}

/** Never rejects: a failure of the method becomes the answer. */
async function answer<Request extends object, Response>(
  server: Call,
  rpc: ServerUnaryCall<Request, Response>,
  method: UnaryMethod<Request, Response>,
): Promise<[Failure | null, Response?]> {
  using call = callFrom(server, rpc);
  const startedMs = performance.now();
  const seen = (code: status) => ({
    code: status[code],
    afterMs: Math.round(performance.now() - startedMs),
    request: redacted(rpc.request),
  });
  try {
    const response = await method(call, rpc.request);
    call.log.debug("call answered", seen(status.OK));
    return [null, response];
  } catch (error) {
    const failure = toStatus(error);
    call.log.error("call failed", { ...seen(failure.code), error, stack: stackOfBug(failure, error) });
    return [failure];
  }
}

/** Internal means a bug, and a bug report needs the stack. */
function stackOfBug(failure: Failure, error: unknown): string | undefined {
  return failure.code === status.INTERNAL && error instanceof Error ? error.stack : undefined;
}

function callFrom(server: Call, rpc: ServerUnaryCall<unknown, unknown>): Call & Disposable {
  const abort = new AbortController();
  const onLeft = () => abort.abort(new CallerLeft(isPast(rpc.getDeadline()) ? "deadline" : "cancelled"));
  const onStop = () => abort.abort(server.signal.reason);
  // Listeners can be removed, unlike those of AbortSignal.any: the server's signal outlives every call.
  rpc.on("cancelled", onLeft);
  server.signal.addEventListener("abort", onStop);
  if (server.signal.aborted) onStop();
  const endsAtMs = Number(rpc.getDeadline());
  return {
    ...(Number.isFinite(endsAtMs) ? { endsAtMs } : {}),
    signal: abort.signal,
    log: server.log.with({ method: rpc.getPath().slice(1) }),
    [Symbol.dispose]: () => {
      rpc.off("cancelled", onLeft);
      server.signal.removeEventListener("abort", onStop);
    },
  };
}

/** A caller whose deadline passes cancels the call, and its clock started before ours, so the deadline may seem to be ahead. */
const skewMs = 500;

function isPast(deadline: Date | number): boolean {
  return Date.now() + skewMs >= Number(deadline);
}
