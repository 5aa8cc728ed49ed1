import { setTimeout as sleep } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { expect, it } from "vitest";
import { DriverError } from "../core/errors.ts";
import { deadline } from "../runtime/call.ts";
import { silentLogger } from "../runtime/log.ts";
import { CallerLeft, toStatus } from "./status.ts";

/** The codes that kubelet's CSI client does not take as the end of the operation (isFinalError in its csi_client.go). */
const nonFinal = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.UNAVAILABLE,
  status.RESOURCE_EXHAUSTED,
  status.ABORTED,
]);

it.for([
  { kind: "invalid", code: "INVALID_ARGUMENT", mayStillBeRunning: false },
  { kind: "missing", code: "NOT_FOUND", mayStillBeRunning: false },
  { kind: "exists", code: "ALREADY_EXISTS", mayStillBeRunning: false },
  { kind: "denied", code: "PERMISSION_DENIED", mayStillBeRunning: false },
  { kind: "unauthenticated", code: "UNAUTHENTICATED", mayStillBeRunning: false },
  { kind: "unsupported", code: "UNIMPLEMENTED", mayStillBeRunning: false },
  { kind: "inUse", code: "FAILED_PRECONDITION", mayStillBeRunning: false },
  { kind: "exhausted", code: "RESOURCE_EXHAUSTED", mayStillBeRunning: true },
  { kind: "busy", code: "ABORTED", mayStillBeRunning: true },
  { kind: "notReady", code: "UNAVAILABLE", mayStillBeRunning: true },
] as const)("$kind → $code, kubelet assumes it may still be running: $mayStillBeRunning", (row) => {
  const { code } = toStatus(new DriverError(row.kind, "x"));
  expect(status[code]).toBe(row.code);
  expect(nonFinal.has(code)).toBe(row.mayStillBeRunning);
});

it.for([
  { what: "the caller's deadline", error: new CallerLeft("deadline"), code: "DEADLINE_EXCEEDED" },
  { what: "the caller's cancellation", error: new CallerLeft("cancelled"), code: "CANCELLED" },
  { what: "a limit of our own", error: new DOMException("x", "TimeoutError"), code: "UNAVAILABLE" },
  { what: "an abort without a reason", error: new DOMException("x", "AbortError"), code: "CANCELLED" },
])("$what → $code, and kubelet assumes it may still be running", (row) => {
  const { code } = toStatus(row.error);
  expect(status[code]).toBe(row.code);
  expect(nonFinal.has(code)).toBe(true);
});

it("finds the reason that Node's own functions hide in a bare AbortError", async () => {
  const call = { signal: AbortSignal.abort(new DriverError("busy", "volume v is being unmounted")), log: silentLogger };
  using limited = deadline(call, 60_000, "nothing");
  const error: unknown = await sleep(60_000, undefined, { signal: limited.signal }).catch((reason: unknown) => reason);
  expect(error).not.toBeInstanceOf(DriverError);
  expect(toStatus(error)).toEqual({ code: status.ABORTED, details: "volume v is being unmounted" });
});

it.for([
  { error: new DriverError("invalid", "bucketName is required"), details: "bucketName is required" },
  { error: new DriverError("invalid", "no bucket", { hint: "Set it." }), details: "no bucket. Set it." },
  { error: new DriverError("invalid", "No bucket.", { hint: "Set it." }), details: "No bucket. Set it." },
  { error: new DriverError("denied", "refused", { cause: new Error("internals") }), details: "refused" },
  { error: new Error("outer", { cause: new Error("inner") }), details: "outer: inner" },
  { error: "a string", details: "'a string'" },
  { error: undefined, details: "" },
])("says $details", ({ error, details }) => {
  expect(toStatus(error).details).toBe(details);
});

it("keeps the hint when the text is cut, and sends nothing that cannot be encoded", () => {
  const { details } = toStatus(new DriverError("invalid", "🪣".repeat(5_000), { hint: "Read the log." }));
  expect(details).toMatch(/ \[cut\]\. Read the log\.$/);
  expect(Buffer.byteLength(details)).toBeLessThanOrEqual(880);
  expect(() => encodeURI(details)).not.toThrow();
  expect(() => encodeURI(toStatus(new Error("\ud800")).details)).not.toThrow();
});

it("SE-4 no answer has a URL with a password", () => {
  const error = new DriverError("notReady", "no way to http://user:hunter2@proxy", { hint: "Try http://a:hunter2@b" });
  expect(toStatus(error).details).toBe("no way to http://proxy. Try http://b");
});

it("SE-4 a URL that is cut has no password either", () => {
  for (let start = 840; start < 880; start += 1) {
    const error = new DriverError("notReady", `${"x".repeat(start)} http://user:hunter2@proxy ${"x".repeat(100)}`);
    expect(toStatus(error).details).not.toContain("hunter");
  }
});
