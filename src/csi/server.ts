/** gRPC on a unix socket: a clean socket file, and an end that neither loses nor waits for calls. */
import { chmod, rm } from "node:fs/promises";
import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from "@grpc/grpc-js";
import { DriverError } from "../core/errors.ts";
import type { Call } from "../runtime/call.ts";
import { type Endpoint, parseEndpoint } from "./endpoint.ts";
import type { Service } from "./service.ts";

/** How long calls may run on after the end was asked for, and how long they may take to obey. Below 5 s in all (LC-17). */
export interface StopLimits {
  readonly finishMs: number;
  readonly cancelMs: number;
}

/** Serves until it is disposed of; from then on calls finish, are cancelled, and at last are cut off. */
export async function serve(
  call: Call,
  endpoint: string,
  services: readonly Service[],
  limits: StopLimits = { finishMs: 3_000, cancelMs: 1_000 },
): Promise<AsyncDisposable> {
  setLogVerbosity(logVerbosity.NONE); // grpc-js writes plain text to stderr; what it says there, it also throws
  const at = parseEndpoint(endpoint);
  const cancel = new AbortController();
  // channelz stays on: without it, forceShutdown of grpc-js 1.14 knows no sessions and closes none.
  const server = new Server();
  for (const service of services) service.addTo(server, { signal: cancel.signal, log: call.log });

  await using undo = new AsyncDisposableStack();
  undo.defer(() => server.forceShutdown());
  const port = await listen(server, at);
  undo.move();

  call.log.info("serving", { endpoint, port: at.kind === "tcp" ? port : undefined });
  return { [Symbol.asyncDispose]: () => stop(server, cancel, limits) };
}

async function listen(server: Server, at: Endpoint): Promise<number> {
  // The file of a process that was killed is still there, and bind(2) refuses to replace it.
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

/** The socket file goes at once (libuv removes it with the listener), so nobody new arrives meanwhile. */
async function stop(server: Server, cancel: AbortController, limits: StopLimits): Promise<void> {
  const { promise: drained, resolve } = Promise.withResolvers<void>();
  server.tryShutdown(() => resolve());
  if (await endsWithin(limits.finishMs, drained)) return;
  cancel.abort(new DriverError("notReady", "the driver is stopping; its successor takes the call when it is repeated"));
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
