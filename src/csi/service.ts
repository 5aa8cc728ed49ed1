/** A gRPC service: its generated definition, and async methods. */
import type { MethodDefinition, Server, ServiceDefinition } from "@grpc/grpc-js";
import { type ServerCall, type UnaryMethod, unary } from "./unary.ts";

export interface Service {
  /** Must be called before the server listens. Calls of the service are aborted with `call`, and use its log. */
  addTo(server: Server, call: ServerCall): void;
}

/** A method that is left out answers Unimplemented. */
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
