/** Turns an async method into a handler of grpc-js. Callbacks, cancellation and the log line of a call are only here. */
import { type handleUnaryCall, type ServerUnaryCall, status } from "@grpc/grpc-js";
import type { Call } from "../runtime/call.ts";
import { inBackground } from "../runtime/in-background.ts";
import { redacted } from "./redact.ts";
import { CallerLeft, type Failure, toStatus } from "./status.ts";

/** A call that was answered. */
export interface AnsweredCall {
  /** Such as `csi.v1.Node/NodePublishVolume`. */
  readonly method: string;
  /** The name of the gRPC code, such as `OK`. */
  readonly code: string;
  readonly seconds: number;
}

/** The server of a method: what ends its calls, and who hears of their answers. */
export interface ServerCall extends Call {
  /** Must not throw. */
  readonly onAnswered?: ((answered: AnsweredCall) => void) | undefined;
}

export type UnaryMethod<Request, Response> = (call: Call, request: Request) => Promise<Response>;

/**
 * Guarantees one answer and one log line for every call, also if the method throws. The call of the method is aborted when the
 * caller cancels, its deadline passes, or `server` is aborted; the method must stop then, and undo what it began.
 */
export function unary<Request extends object, Response>(
  server: ServerCall,
  method: UnaryMethod<Request, Response>,
): handleUnaryCall<Request, Response> {
  return (rpc, reply) => {
    const answered = answer(server, rpc, method).then(([failure, response]) => reply(failure, response));
    inBackground(server.log, "answering a call", answered);
  };
}

/** Never rejects: a failure of the method becomes the answer. */
async function answer<Request extends object, Response>(
  server: ServerCall,
  rpc: ServerUnaryCall<Request, Response>,
  method: UnaryMethod<Request, Response>,
): Promise<[Failure | null, Response?]> {
  using call = callFrom(server, rpc);
  const startedMs = performance.now();
  const seen = (code: status) => {
    const ms = performance.now() - startedMs;
    server.onAnswered?.({ method: methodOf(rpc), code: status[code], seconds: ms / 1000 });
    return { ...idsIn(rpc.request), code: status[code], afterMs: Math.round(ms), request: redacted(rpc.request) };
  };
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

/** The fields by which every log line names a volume. csi-provisioner calls the PersistentVolume as it calls the request. */
function idsIn(request: object): Readonly<Record<string, unknown>> {
  if ("volumeId" in request) return { volumeId: request.volumeId };
  return "name" in request ? { volume: request.name } : {};
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
    log: server.log.with({ method: methodOf(rpc) }),
    [Symbol.dispose]: () => {
      rpc.off("cancelled", onLeft);
      server.signal.removeEventListener("abort", onStop);
    },
  };
}

function methodOf(rpc: ServerUnaryCall<unknown, unknown>): string {
  return rpc.getPath().slice(1);
}

/** A caller whose deadline passes cancels the call, and its clock started before ours, so the deadline may seem to be ahead. */
const skewMs = 500;

function isPast(deadline: Date | number): boolean {
  return Date.now() + skewMs >= Number(deadline);
}
