import { expect, it } from "vitest";
import { mountFailureFix, mountFailureKind, mountS3Error } from "./mount-s3-error.ts";

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

/** As mount-s3 1.24 prints it for a region that the store does not have. */
const wrongRegion = String.raw`Error: Failed to create S3 client

Caused by:
    0: initial ListObjectsV2 failed for bucket photos in region eu-west-9
    1: Client error
    2: Unknown response error: MetaRequestResult { response_status: 400, crt_error: Error(14343, "aws-c-s3: AWS_ERROR_S3_INVALID_RESPONSE_STATUS, Invalid response status from request"), error_response_headers: Some(Headers { inner: 0x7f2e28013800 }), error_response_body: Some("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AuthorizationHeaderMalformed</Code><Message>The authorization header is malformed; the region &#34;eu-west-9&#34; is wrong; expecting &#34;us-east-1&#34;</Message><Region>us-east-1</Region><RequestId>QLIZAF2BFKLU9CYV</RequestId></Error>") }

Stack backtrace:
   0: <unknown>
`;

it("OP-4 takes error code and message out of the page of text for an answer that mount-s3 does not know", () => {
  const error = mountS3Error(wrongRegion);
  expect(error).toBe(
    'AuthorizationHeaderMalformed: The authorization header is malformed; the region "eu-west-9" is wrong; expecting ' +
      '"us-east-1" (HTTP 400, initial ListObjectsV2 failed for bucket photos in region eu-west-9)',
  );
  expect(mountFailureKind(error)).toBe("invalid");
  expect(mountFailureFix(error)).toContain("chart value s3.region");
});

it.for<[string, RegExp]>([
  ["Forbidden: The AWS Access Key Id you provided does not exist in our records.", /access_key_id/],
  ["Forbidden: The request signature we calculated does not match", /secret_access_key/],
  ["Forbidden: Access Denied.", /s3:ListBucket/],
  ["Service error 2: The bucket does not exist", /bucketName/],
  ["<Code>RequestTimeTooSkewed</Code>", /clock/],
])("OP-4 %s → a fix that names what to change", ([error, fix]) => {
  expect(mountFailureFix(error)).toMatch(fix);
});

it("an error that is not known has no fix", () => {
  expect(mountFailureFix("CRT error 1047: AWS_IO_SOCKET_CONNECTION_REFUSED")).toBeUndefined();
});
