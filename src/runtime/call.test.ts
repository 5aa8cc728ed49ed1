import { expect, it } from "vitest";
import { type Call, deadline, withFields } from "./call.ts";
import { silentLogger } from "./log.ts";

const call: Call = { signal: new AbortController().signal, log: silentLogger, endsAtMs: 1234 };

it("a child call knows when the caller stops listening", () => {
  using limited = deadline(call, 60_000, "something");
  expect(limited.endsAtMs).toBe(1234);
  expect(withFields(limited, { a: 1 }).endsAtMs).toBe(1234);
});

it("a child of a call without such a time has none", () => {
  using limited = deadline({ signal: call.signal, log: silentLogger }, 60_000, "something");
  expect("endsAtMs" in limited).toBe(false);
  expect("endsAtMs" in withFields(limited, {})).toBe(false);
});

it("a child with more context cannot end its parent's timer", () => {
  using limited = deadline(call, 60_000, "something");
  expect(Symbol.dispose in withFields(limited, {})).toBe(false);
});
