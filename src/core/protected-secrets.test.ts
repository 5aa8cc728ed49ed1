import { expect, it } from "vitest";
import { isProtectionOn, keepForMs, recordKey, recordsIn, recordText, settleMs } from "./protected-secrets.ts";

const at = new Date("2026-01-15T10:30:00Z");
const record = { secret: "team-a/credentials", at, by: "process-1" } as const;

it("parses a record that it has written", () => {
  expect(recordsIn({ [recordKey(record.secret)]: recordText(record), protection: "on" })).toEqual([record]);
});

it("the key is valid in a ConfigMap for the longest names", () => {
  expect(recordKey(`${"n".repeat(63)}/${"s".repeat(253)}`)).toMatch(/^[0-9a-f]{32}$/);
});

it.for([
  ["another key", { mine: recordText(record) }],
  ["no reference to a Secret", { [recordKey("team-a/credentials")]: "on" }],
  ["a reference to another Secret", { [recordKey("team-b/credentials")]: recordText(record) }],
] as const)("an entry with %s is not a record", ([, data]) => {
  expect(recordsIn(data)).toEqual([]);
});

it("a record without a time counts as old", () => {
  const [read] = recordsIn({ [recordKey(record.secret)]: record.secret });
  expect(read).toEqual({ secret: record.secret, at: new Date(0), by: "" });
});

it("only the value off turns the protection off", () => {
  expect([{}, { protection: "on" }, { protection: "off" }].map(isProtectionOn)).toEqual([true, true, false]);
});

const later = (ms: number) => new Date(at.valueOf() + ms);

it.for([
  { what: "a volume needs it", isNeeded: true, self: "process-1", now: later(settleMs), keep: undefined },
  { what: "recorded by this process", isNeeded: false, self: "process-1", now: later(1), keep: 0 },
  {
    what: "recorded by another, just now",
    isNeeded: false,
    self: "process-2",
    now: later(1000),
    keep: settleMs * 1.5 - 1000,
  },
  { what: "recorded by another, long ago", isNeeded: false, self: "process-2", now: later(settleMs * 1.5), keep: 0 },
  {
    what: "recorded by a clock that is a little ahead",
    isNeeded: false,
    self: "process-2",
    now: later(-50),
    keep: settleMs * 1.5,
  },
  { what: "recorded in the far future", isNeeded: false, self: "process-2", now: later(-3_600_001), keep: 0 },
])("$what: kept for $keep ms", ({ isNeeded, self, now, keep }) => {
  expect(keepForMs({ record, isNeeded, self, now })).toBe(keep);
});
