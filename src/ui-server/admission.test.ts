import { expect, it } from "vitest";
import { type PageRequest, plainRefusalOf, refusalOf } from "./admission.ts";

const request: PageRequest = {
  method: "GET",
  url: "/feed",
  host: "s3.example.com",
  origin: undefined,
  site: undefined,
};
const hosts = ["s3.example.com", "s3-csi-ui.storage.svc"];

it.for<Partial<PageRequest>>([
  {},
  { host: "S3.example.com:8443" },
  { host: "s3-csi-ui.storage.svc:80" },
  { host: "localhost:8080" },
  { host: "127.0.0.1:8080" },
  { host: "10.1.2.3:8080" },
  { host: "[fd00::1]:8080" },
  { origin: "https://s3.example.com" },
  { site: "same-origin" },
  { site: "none" },
  // A link on another site.
  { url: "/", site: "cross-site" },
])("answers %j", (change) => {
  expect(refusalOf({ ...request, ...change }, hosts)).toBeUndefined();
});

it.for<Partial<PageRequest> & { code: number }>([
  { code: 403, host: "evil.example" },
  { code: 403, host: "evil.example", url: "/" },
  { code: 403, host: "localhost.evil.example" },
  { code: 403, host: "127.0.0.1.evil.example" },
  { code: 403, host: "10.1.2.3@evil.example" },
  { code: 403, host: "" },
  { code: 403, host: undefined },
  { code: 403, origin: "https://evil.example" },
  { code: 403, origin: "null" },
  { code: 403, site: "cross-site" },
  { code: 403, site: "same-site" },
  { code: 405, method: "POST" },
  { code: 405, method: "OPTIONS", url: "/" },
])("refuses %j", ({ code, ...change }) => {
  expect(refusalOf({ ...request, ...change }, hosts)?.code).toBe(code);
});

it.for([
  ["127.0.0.1", false, false],
  ["127.8.0.1", false, false],
  ["::1", false, false],
  ["::ffff:127.0.0.1", false, false],
  ["10.0.0.1", false, true],
  ["::ffff:10.0.0.1", false, true],
  ["::ffff:12.7.0.1", false, true],
  ["fe80::1", false, true],
  [undefined, false, true],
  ["10.0.0.1", true, false],
] as const)("a token from %s, encrypted %s: refused %s", ([peer, isEncrypted, isRefused]) => {
  expect(plainRefusalOf(isEncrypted, peer) !== undefined).toBe(isRefused);
});
