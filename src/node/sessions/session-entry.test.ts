import { expect, it } from "vitest";
import { credentialsOf } from "../../../test/support/fake-node.ts";
import { access, minute, token } from "../../../test/support/session-world.ts";
import type { Secret } from "../../runtime/secret.ts";
import { dueAtMs, newEntry, noteRefusal, type SessionEntry, takeToken } from "./session-entry.ts";

/** The machine started an hour ago. */
const clocks = { nowMs: 60 * minute, wallMs: 1_900_000_000_000 };

/** With a session that is to be renewed in ten minutes, started `sessionAgeMs` ago. */
function entryWith(tokenLeftMs: number, sessionAgeMs: number): SessionEntry {
  const { nowMs, wallMs } = clocks;
  const session = { credentials: credentialsOf("a"), renewAtMs: nowMs + 10 * minute, endsAtMs: nowMs + 15 * minute };
  const endsAtSeconds = (wallMs + tokenLeftMs) / 1000;
  return { ...newEntry(access), session, startedAtMs: nowMs - sessionAgeMs, token: token(endsAtSeconds) };
}

it.for([
  ["lasts until the session is to be renewed", 11 * minute, 5 * minute, 10 * minute],
  ["ends before that", 3 * minute, 5 * minute, 3 * minute - 20_000],
  ["is about to end", 10_000, 5 * minute, -10_000],
  ["is about to end, and the session was started with it just now", 10_000, 5000, 10 * minute],
  ["has ended", -1, 5 * minute, 10 * minute],
] as const)("ID-2 the last token of a Pod that is being terminated %s", ([, tokenLeftMs, sessionAgeMs, expectedMs]) => {
  expect(dueAtMs(entryWith(tokenLeftMs, sessionAgeMs), clocks) - clocks.nowMs).toBe(expectedMs);
});

it("ID-2 without a token, or with one that does not say when it ends, the life of the session decides", () => {
  const entry = entryWith(minute, 5 * minute);
  for (const other of [undefined, token(0)]) {
    expect(dueAtMs({ ...entry, token: other }, clocks) - clocks.nowMs).toBe(10 * minute);
  }
});

it("ID-3 tokens of an account that STS has refused make no further request at once, however many there are", () => {
  const entry = { ...newEntry(access), retryAtMs: 0 };
  const tokens = [1, 2, 3].map((seconds) => token(2_000_000_000 + seconds));
  for (const each of tokens) {
    takeToken(entry, each);
    expect([entry.token, entry.retryAtMs]).toEqual([each, 0]);
    noteRefusal(entry, each);
    entry.retryAtMs = 30_000;
  }
  // Every further attempt with the last one is refused, too.
  for (let attempt = 0; attempt < 100; attempt += 1) noteRefusal(entry, entry.token as Secret);
  for (const each of tokens) takeToken(entry, each);
  expect(entry.retryAtMs).toBe(30_000);
  takeToken(entry, token(1_999_999_999));
  expect(entry.retryAtMs).toBe(0);
});
