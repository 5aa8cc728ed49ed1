/** One async method in grpc-js's form: the only place that knows callbacks, cancellation and how a call is logged. */
import { type handleUnaryCall, type ServerUnaryCall, status } from "@grpc/grpc-js";
import type { Call } from "../runtime/call.ts";
import { inBackground } from "../runtime/in-background.ts";
import { redacted } from "./redact.ts";
import { CallerLeft, type Failure, toStatus } from "./status.ts";

export type UnaryMethod<Request, Response> = (call: Call, request: Request) => Promise<Response>;

/** Every call ends in one log line, and is aborted when its caller leaves or `server` is aborted. */
export function unary<Request extends object, Response>(
  server: Call,
  method: UnaryMethod<Request, Response>,
): handleUnaryCall<Request, Response> {
  return (rpc, reply) => {
    const answered = answer(server, rpc, method).then(([failure, response]) => reply(failure, response));
    inBackground(server.log, "answering a call", answered);
  };
}

/** A failure of the method is its answer. */
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

/** Internal is what we did not foresee; where it came from is the first question. */
function stackOfBug(failure: Failure, error: unknown): string | undefined {
  return failure.code === status.INTERNAL && error instanceof Error ? error.stack : undefined;
}

function callFrom(server: Call, rpc: ServerUnaryCall<unknown, unknown>): Call & Disposable {
  const abort = new AbortController();
  const onLeft = () => abort.abort(new CallerLeft(isPast(rpc.getDeadline()) ? "deadline" : "cancelled"));
  const onStop = () => abort.abort(server.signal.reason);
  // Listeners that are removed, not AbortSignal.any: the server's signal outlives every call.
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

/** A caller whose deadline passes cancels, too, and its clock started before ours: so a little early is late. */
const skewMs = 500;

function isPast(deadline: Date | number): boolean {
  return Date.now() + skewMs >= Number(deadline);
}
