import { describe, expect, it } from "vitest";
import { type PageRequest, refusalOf } from "./admission.ts";

const admitted = { port: 4321, token: "secret" };
const request: PageRequest = {
  method: "GET",
  path: "/feed",
  host: "127.0.0.1:4321",
  origin: undefined,
  authorization: "Bearer secret",
};

describe("the loopback server", () => {
  it.for<Partial<PageRequest>>([
    {},
    { host: "localhost:4321" },
    { origin: "http://127.0.0.1:4321" },
    { path: "/", authorization: undefined },
    { path: "/page.js?x", authorization: undefined },
  ])("answers %j", (change) => {
    expect(refusalOf({ ...request, ...change }, admitted)).toBeUndefined();
  });

  it.for<Partial<PageRequest> & { code: number }>([
    { code: 403, host: "evil.example:4321" },
    { code: 403, host: "127.0.0.1:4322" },
    { code: 403, host: "127.0.0.1" },
    { code: 403, host: undefined },
    { code: 403, path: "/", host: "evil.example" },
    { code: 403, origin: "http://evil.example" },
    { code: 403, origin: "null" },
    { code: 405, method: "POST" },
    { code: 405, method: "OPTIONS", path: "/" },
    { code: 401, authorization: undefined },
    { code: 401, authorization: "Bearer secreT" },
    { code: 401, authorization: "Bearer " },
    { code: 401, path: "/feed?token=secret", authorization: undefined },
  ])("refuses %j", ({ code, ...change }) => {
    expect(refusalOf({ ...request, ...change }, admitted)?.code).toBe(code);
  });
});
