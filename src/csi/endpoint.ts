import { DriverError } from "../core/errors.ts";

/** Where a server listens. `target` is the address in the form of grpc-js. */
export type Endpoint =
  | { readonly kind: "unix"; readonly path: string; readonly target: string }
  | { readonly kind: "tcp"; readonly target: string };

const form = /^(unix|tcp):\/*([^/].*)$/i;

export function isEndpoint(endpoint: string): boolean {
  return form.test(endpoint);
}

/** Understands `unix:/path`, `unix:///path` and `tcp://host:port`, and takes every path as absolute. Throws for other forms. */
export function parseEndpoint(endpoint: string): Endpoint {
  const [, scheme, rest] = form.exec(endpoint) ?? [];
  if (scheme === undefined || rest === undefined) {
    throw new DriverError("invalid", `endpoint "${endpoint}" is neither unix:/path nor tcp://host:port`);
  }
  if (scheme.toLowerCase() === "tcp") return { kind: "tcp", target: rest };
  const path = `/${rest}`;
  return { kind: "unix", path, target: `unix:${path}` };
}
