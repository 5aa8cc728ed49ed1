import { EventEmitter, getEventListeners } from "node:events";
import { type ServerUnaryCall, status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { DriverError } from "../core/errors.ts";
import type { Call } from "../runtime/call.ts";
import { silentLogger } from "../runtime/log.ts";
import { type UnaryMethod, unary } from "./unary.ts";

/** The part of grpc-js's call that the adapter looks at. */
class FakeRpc extends EventEmitter {
  readonly request = {};
  readonly getPath = () => "/csi.v1.Node/NodeGetInfo";
  readonly getDeadline = () => Number.POSITIVE_INFINITY;
}

function answered(server: AbortController, rpc: FakeRpc, method: UnaryMethod<object, object>) {
  const { promise, resolve } = Promise.withResolvers<{ failure: unknown; response: unknown }>();
  const handler = unary({ signal: server.signal, log: silentLogger }, method);
  const reply = (failure: unknown, response: unknown) => resolve({ failure, response });
  handler(rpc as unknown as ServerUnaryCall<object, object>, reply);
  return promise;
}

it("leaves no listener behind, and a call that has ended is not aborted later", async () => {
  const server = new AbortController();
  const rpc = new FakeRpc();
  const calls: Call[] = [];
  await answered(server, rpc, async (call) => {
    calls.push(call);
    return {};
  });
  expect(getEventListeners(server.signal, "abort")).toEqual([]);
  rpc.emit("cancelled"); // grpc-js says so at the end of every call, successful or not
  server.abort();
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([false]);
});

it("aborts a call at once that begins while the server is stopping", async () => {
  const server = new AbortController();
  server.abort(new DriverError("notReady", "stopping"));
  const { failure } = await answered(server, new FakeRpc(), async ({ signal }) => {
    signal.throwIfAborted();
    return {};
  });
  expect(failure).toEqual({ code: status.UNAVAILABLE, details: "stopping" });
});

it("answers for a method that throws before it returns a promise", async () => {
  const { failure } = await answered(new AbortController(), new FakeRpc(), () => {
    throw new Error("too early");
  });
  expect(failure).toEqual({ code: status.INTERNAL, details: "too early" });
});
