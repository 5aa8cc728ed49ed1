import * as fc from "fast-check";
import { expect, it } from "vitest";
import { DriverError } from "../errors.ts";
import { decodeMountRequest, encodeMountRequest, type MountRequest, mountRequestLimitBytes } from "./mount-request.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const decode = (message: unknown) => decodeMountRequest(bytes(JSON.stringify(message)));

const text = fc.string({ unit: "grapheme", maxLength: 60 }).filter((value) => !value.includes("\0"));
const variableName = text.filter((name) => name !== "" && !name.includes("="));
const requests: fc.Arbitrary<MountRequest> = fc.record({
  bucketName: text.filter((name) => name !== "" && !name.startsWith("-")),
  args: fc.array(text, { maxLength: 20 }),
  env: fc.dictionary(variableName, text, { maxKeys: 20 }),
});

const outcomeOf = (noise: Uint8Array) => {
  try {
    return decodeMountRequest(noise).bucketName;
  } catch (error) {
    return error instanceof DriverError ? error.kind : error;
  }
};

it("arrives as it was sent", () => {
  fc.assert(
    fc.property(requests, (request) => {
      expect(decodeMountRequest(encodeMountRequest(request))).toEqual(request);
    }),
  );
});

it("is understood or refused in our own words, whatever arrives", () => {
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.json().map(bytes)), (noise) => {
      expect(outcomeOf(noise)).toEqual(expect.stringMatching(/./));
    }),
  );
});

it("has the form that 2.x reads", () => {
  const message = encodeMountRequest({
    bucketName: "photos",
    args: ["--allow-root", "--region=eu-west-1"],
    env: { AWS_REGION: "eu-west-1", AWS_PROFILE: "a=b" },
  });
  expect(new TextDecoder().decode(message)).toBe(
    '{"bucketName":"photos","args":["--allow-root","--region=eu-west-1"],"env":["AWS_REGION=eu-west-1","AWS_PROFILE=a=b"]}',
  );
});

it("ignores keys it does not know, and splits a variable at the first =", () => {
  const message = { version: 3, bucketName: "b", args: ["-x"], env: ["A=1=2"] };
  expect(decode(message)).toEqual({ bucketName: "b", args: ["-x"], env: { A: "1=2" } });
});

it("takes a missing or null list as empty, because Go writes an empty one as null", () => {
  expect(decode({ bucketName: "b", args: null })).toEqual({ bucketName: "b", args: [], env: {} });
});

it("takes the last of a variable given twice, as execve's users do", () => {
  expect(decode({ bucketName: "b", env: ["A=1", "A=2"] }).env).toEqual({ A: "2" });
});

it.for([
  { message: { args: [] }, says: "bucketName" },
  { message: { bucketName: "" }, says: "bucketName" },
  { message: { bucketName: "--help" }, says: "bucketName" },
  { message: { bucketName: 7 }, says: "bucketName" },
  { message: { bucketName: "a\0b" }, says: "bucketName" },
  { message: { bucketName: "b", args: "--x" }, says: "args" },
  { message: { bucketName: "b", args: [1] }, says: "args" },
  { message: { bucketName: "b", args: ["a\0b"] }, says: "args" },
  { message: { bucketName: "b", env: { A: "1" } }, says: "env" },
  { message: { bucketName: "b", env: ["A"] }, says: "env" },
  { message: { bucketName: "b", env: ["=1"] }, says: "env" },
  { message: ["b"], says: "not an object" },
  { message: null, says: "not an object" },
])("refuses $message and names the problem: $says", ({ message, says }) => {
  expect(() => decode(message)).toThrow(says);
});

it("shows nothing of a message it cannot read, because there may be keys in it", () => {
  const broken = bytes('{"env":["AWS_SECRET_ACCESS_KEY=hunter2"');
  expect(() => decodeMountRequest(broken)).toThrow(/^the mount request is not JSON$/);
});

it("has a limit in both directions", () => {
  const long = "x".repeat(mountRequestLimitBytes);
  expect(() => encodeMountRequest({ bucketName: "b", args: [long], env: {} })).toThrow("more than the 65536 allowed");
  expect(() => decode({ bucketName: "b", args: [long] })).toThrow("longer than 65536 bytes");
});
