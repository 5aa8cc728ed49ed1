import { expect, it } from "vitest";
import { callFailures, type FailureCause, failureCause, failurePattern } from "./call-failures.ts";

const causes = Object.keys(callFailures) as FailureCause[];

it.for(causes)("OP-4 %s: each of its texts leads to this cause, and to no earlier one", (cause) => {
  for (const text of callFailures[cause].texts) {
    const message = `rpc error: code = Unknown desc = Could not mount "b" at "/t": ${text.replaceAll("…", "x\ny")}. See: z`;
    expect(failureCause(message)).toBe(cause);
    expect(message.toUpperCase()).toMatch(failurePattern(cause));
  }
});

it.for([
  [
    'Could not mount "b" at "/t": Error: Failed to create S3 client Caused by: 1: Client error 2: Forbidden: The AWS Access Key Id you provided does not exist in our records.',
    "unknownAccessKey",
  ],
  ["could not create bucket b: ECONNREFUSED: connect ECONNREFUSED 127.0.0.1:9", "endpointUnreachable"],
  ["could not create bucket b: DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate", "certificateNotTrusted"],
  ["the volume is mounted with a text that nobody knows", undefined],
] as const)("%s → %s", ([message, cause]) => {
  expect(failureCause(message)).toBe(cause);
});

it("OP-4 every cause and fix is plain text, and the fix is a sentence", () => {
  for (const { cause, fix } of Object.values(callFailures)) {
    expect(cause).not.toMatch(/[`|]|\]\(|\.$/);
    expect(fix).toMatch(/^[A-Z][^`|]*\.$/);
  }
});
