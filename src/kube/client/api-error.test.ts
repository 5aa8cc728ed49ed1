import { expect, it } from "vitest";
import { type ApiError, apiErrorFrom, statusError } from "./api-error.ts";

const status = (reason: string, code: number) => JSON.stringify({ kind: "Status", reason, code, message: "words" });

it.for([
  { reason: "Conflict", code: 409, is: "isConflict" },
  { reason: "AlreadyExists", code: 409, is: "isAlreadyExists" },
  { reason: "NotFound", code: 404, is: "isNotFound" },
  { reason: "Expired", code: 410, is: "isGone" },
  { reason: "Gone", code: 410, is: "isGone" },
  { reason: "Forbidden", code: 403, is: "none of them" },
] as const)("$code $reason is $is and keeps the server's words", ({ reason, code, is }) => {
  const error = apiErrorFrom(code, status(reason, code));
  expect(questions.filter((question) => error[question])).toEqual(questions.filter((question) => question === is));
  expect(error.message).toBe(`words (${code} ${reason})`);
});

const questions = ["isConflict", "isAlreadyExists", "isNotFound", "isGone"] as const satisfies (keyof ApiError)[];

it("does not take a kind that is not served for an object that is not there", () => {
  const error = apiErrorFrom(404, "404 page not found\n");
  expect(error.isNotFound).toBe(false);
  expect(error.message).toBe("404 page not found (404)");
});

it.for([
  { body: "", message: "the API server gave no explanation (502)" },
  { body: "<html>\n  Bad   Gateway</html>", message: "<html> Bad Gateway</html> (502)" },
  { body: '"text"', message: '"text" (502)' },
  { body: "null", message: "null (502)" },
])("explains an answer that is no Status: $message", ({ body, message }) => {
  expect(apiErrorFrom(502, body).message).toBe(message);
});

it("shows only the beginning of a long page", () => {
  expect(apiErrorFrom(502, "x".repeat(10_000)).message.length).toBeLessThan(300);
});

it("reads the failure that a watch reports inside its stream", () => {
  const error = statusError({ code: 410, reason: "Expired", message: "too old resource version" });
  expect(error.isGone).toBe(true);
});
