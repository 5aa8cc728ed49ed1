/** A gRPC server that replaces a stale socket file and finishes its calls before it ends. */
import { chmod, rm } from "node:fs/promises";
import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from "@grpc/grpc-js";
import { DriverError } from "../core/errors.ts";
import type { Call } from "../runtime/call.ts";
import { type Endpoint, parseEndpoint } from "./endpoint.ts";
import type { Service } from "./service.ts";
import type { ServerCall } from "./unary.ts";

/** How long running calls may go on after the server is disposed of, and then after their abort. Below 5 s in all (LC-17). */
export interface StopLimits {
  readonly finishMs: number;
  readonly cancelMs: number;
}

export interface ServeOptions {
  readonly limits?: StopLimits;
  readonly onAnswered?: ServerCall["onAnswered"];
}

/**
 * Resolves when the endpoint accepts connections, and rejects if it cannot be bound. Serves until it is disposed of: then it accepts
 * no new calls, lets running calls finish, aborts those that take longer than `finishMs`, and closes their connections after
 * `cancelMs` more. Disposing resolves when that is done.
 */
export async function serve(
  call: Call,
  endpoint: string,
  services: readonly Service[],
  { limits = { finishMs: 3_000, cancelMs: 1_000 }, onAnswered }: ServeOptions = {},
): Promise<AsyncDisposable> {
  setLogVerbosity(logVerbosity.NONE); // grpc-js writes plain text to stderr, and also throws what it writes there
  const at = parseEndpoint(endpoint);
  const cancel = new AbortController();
  // channelz stays on: without it, forceShutdown of grpc-js 1.14 knows no sessions and closes none.
  const server = new Server();
  for (const service of services) service.addTo(server, { signal: cancel.signal, log: call.log, onAnswered });

  await using undo = new AsyncDisposableStack();
  undo.defer(() => server.forceShutdown());
  const port = await listen(server, at);
  undo.move();

  call.log.info("serving", { endpoint, port: at.kind === "tcp" ? port : undefined });
  return { [Symbol.asyncDispose]: () => stop(server, cancel, limits) };
}

async function listen(server: Server, at: Endpoint): Promise<number> {
  // A process that was killed leaves its socket file, and bind(2) refuses to replace it.
  if (at.kind === "unix") await rm(at.path, { force: true });
  const port = await bind(server, at.target);
  if (at.kind === "unix") await chmod(at.path, 0o700);
  return port;
}

function bind(server: Server, target: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.bindAsync(target, ServerCredentials.createInsecure(), (error, port) => {
    if (error === null) resolve(port);
    else reject(error);
  });
  return promise;
}

/** libuv removes the socket file together with the listener, so no new connection arrives. */
async function stop(server: Server, cancel: AbortController, limits: StopLimits): Promise<void> {
  const { promise: drained, resolve } = Promise.withResolvers<void>();
  server.tryShutdown(() => resolve());
  if (await endsWithin(limits.finishMs, drained)) return;
  cancel.abort(
    new DriverError("notReady", "the driver is stopping; the next driver Pod answers the call when it is repeated"),
  );
  if (await endsWithin(limits.cancelMs, drained)) return;
  server.forceShutdown();
}

async function endsWithin(ms: number, work: Promise<void>): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  work.then(() => resolve(true), reject);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}
