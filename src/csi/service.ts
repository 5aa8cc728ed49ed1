/** A gRPC service as its generated definition and our async methods. */
import type { MethodDefinition, Server, ServiceDefinition } from "@grpc/grpc-js";
import type { Call } from "../runtime/call.ts";
import { type UnaryMethod, unary } from "./unary.ts";

export interface Service {
  /** Every call of the service is a child of `call`. */
  addTo(server: Server, call: Call): void;
}

/** Methods left out answer Unimplemented. */
export function service<Definition extends ServiceDefinition>(
  definition: Definition,
  methods: Methods<Definition>,
): Service {
  return {
    addTo: (server, call) => {
      const entries = Object.entries(methods) as [string, UnaryMethod<object, unknown>][];
      server.addService(definition, Object.fromEntries(entries.map(([name, method]) => [name, unary(call, method)])));
    },
  };
}

type Methods<Definition> = {
  readonly [Name in keyof Definition]?: Definition[Name] extends MethodDefinition<infer Request, infer Response>
    ? UnaryMethod<Request, Response>
    : never;
};
