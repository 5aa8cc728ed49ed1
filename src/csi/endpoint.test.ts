import { expect, it } from "vitest";
import { parseEndpoint } from "./endpoint.ts";

it.for([
  { given: "unix:/csi/csi.sock", target: "unix:/csi/csi.sock", path: "/csi/csi.sock" },
  { given: "unix:///csi/csi.sock", target: "unix:/csi/csi.sock", path: "/csi/csi.sock" },
  { given: "unix://csi/csi.sock", target: "unix:/csi/csi.sock", path: "/csi/csi.sock" },
  { given: "UNIX:/csi/csi.sock", target: "unix:/csi/csi.sock", path: "/csi/csi.sock" },
  { given: "tcp://127.0.0.1:10000", target: "127.0.0.1:10000", path: undefined },
  { given: "tcp://[::1]:10000", target: "[::1]:10000", path: undefined },
])("$given → $target", ({ given, target, path }) => {
  expect(parseEndpoint(given)).toMatchObject({
    target,
    ...(path === undefined ? { kind: "tcp" } : { kind: "unix", path }),
  });
});

it.for(["", "/csi/csi.sock", "unix:", "unix:///", "http://x:1", "tcp://"])("refuses %j", (given) => {
  expect(() => parseEndpoint(given)).toThrow(/neither unix:\/path nor tcp:\/\/host:port/);
});
