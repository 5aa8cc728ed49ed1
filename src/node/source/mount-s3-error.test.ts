import { expect, it } from "vitest";
import { mountFailureKind, mountS3Error } from "./mount-s3-error.ts";

it("returns the last error with its causes, on one line", () => {
  const log = [
    '{"message":"starting mount-s3"}',
    "Error: an earlier one",
    "2026-01-15T10:30:00Z WARN list_objects failed",
    "Error: Failed to create S3 client",
    "",
    "Caused by:",
    "    0: initial ListObjectsV2 failed for bucket photos",
    "    1: Access Denied",
    "",
  ].join("\n");
  expect(mountS3Error(log)).toBe(
    "Error: Failed to create S3 client Caused by: 0: initial ListObjectsV2 failed for bucket photos 1: Access Denied",
  );
});

it("returns the end of a log that has no error", () => {
  expect(mountS3Error("one\ntwo\n")).toBe("one two");
  expect(mountS3Error("")).toBe("");
});

it.for(["x", "Error: x"])("limits the text to the length of an event: %s…", (start) => {
  expect(mountS3Error(`${start}${"x".repeat(100_000)}`).length).toBeLessThanOrEqual(1024);
});

it.for([
  ["Client error 2: Forbidden: The AWS Access Key Id you provided does not exist in our records.", "unauthenticated"],
  ["Client error 2: Forbidden: The request signature we calculated does not match", "unauthenticated"],
  ["Client error 2: Forbidden: Access Denied.", "denied"],
  ["Service error 2: The bucket does not exist", "missing"],
  ["CRT error 1047: AWS_IO_SOCKET_CONNECTION_REFUSED, socket connection refused.", "notReady"],
  ["", "notReady"],
] as const)("%s → %s", ([error, kind]) => {
  expect(mountFailureKind(error)).toBe(kind);
});
