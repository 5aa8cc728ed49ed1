import { expect, it } from "vitest";
import {
  advance,
  durationMs,
  type Input,
  type LeaseRecord,
  type Next,
  renewWithinMs,
  retryMs,
  type State,
} from "./lease-state.ts";

const me = { identity: "me", required: false };
const held: LeaseRecord = { holder: "other", renewTime: "t1", durationMs, transitions: 0, version: "7" };
const ours: LeaseRecord = { ...held, holder: me.identity };
const standby: State = { at: "standby", seen: undefined, refusedSinceMs: undefined };
const seenAt = (sinceMs: number, lease = held): State => ({ ...standby, at: "standby", seen: { lease, sinceMs } });
const deletedAt = (sinceMs: number): State => ({
  ...standby,
  at: "standby",
  seen: { lease: held, sinceMs, isDeleted: true },
});
const leading: State = { at: "leading", lease: ours, untilMs: 50_000 };
const look = (afterMs: number): Next => ({ do: "look", afterMs });
const write = (over: LeaseRecord | undefined, afterMs = 0): Next => ({ do: "write", over, afterMs });

interface Row {
  readonly says: string;
  readonly from: State;
  readonly input: Input;
  readonly to: State;
  readonly next: Next;
}

const rows: readonly Row[] = [
  {
    says: "a lease that does not exist is created",
    from: standby,
    input: { saw: "lease", lease: undefined, atMs: 0 },
    to: standby,
    next: write(undefined),
  },
  {
    says: "a lease of another, seen for the first time, is waited for however old its time is",
    from: standby,
    input: { saw: "lease", lease: { ...held, renewTime: "long ago" }, atMs: 100 },
    to: seenAt(100, { ...held, renewTime: "long ago" }),
    next: look(retryMs),
  },
  {
    says: "one that is deleted under another is waited for: the other may not have noticed",
    from: seenAt(0),
    input: { saw: "lease", lease: undefined, atMs: 2000 },
    to: deletedAt(2000),
    next: look(retryMs),
  },
  {
    says: "for as long as the other may lead",
    from: deletedAt(2000),
    input: { saw: "lease", lease: undefined, atMs: 2000 + durationMs - 1 },
    to: deletedAt(2000),
    next: look(retryMs),
  },
  {
    says: "and is created after that",
    from: deletedAt(2000),
    input: { saw: "lease", lease: undefined, atMs: 2000 + durationMs },
    to: standby,
    next: write(undefined),
  },
  {
    says: "one that the other has created again is waited for anew",
    from: deletedAt(2000),
    input: { saw: "lease", lease: held, atMs: 4000 },
    to: seenAt(4000),
    next: look(retryMs),
  },
  {
    says: "one that was released and deleted is created at once",
    from: seenAt(0, { ...held, holder: "" }),
    input: { saw: "lease", lease: undefined, atMs: 2000 },
    to: standby,
    next: write(undefined),
  },
  {
    says: "one that is renewed is waited for anew",
    from: seenAt(0),
    input: { saw: "lease", lease: { ...held, renewTime: "t2" }, atMs: durationMs },
    to: seenAt(durationMs, { ...held, renewTime: "t2" }),
    next: look(retryMs),
  },
  {
    says: "one that is not renewed is waited for to its end",
    from: seenAt(0),
    input: { saw: "lease", lease: held, atMs: durationMs - 1 },
    to: seenAt(0),
    next: look(retryMs),
  },
  {
    says: "and is taken after it",
    from: seenAt(0),
    input: { saw: "lease", lease: held, atMs: durationMs },
    to: seenAt(0),
    next: write(held),
  },
  {
    says: "a change of the object that is no renewal does not prolong it, and the claim is for its present version",
    from: seenAt(0),
    input: { saw: "lease", lease: { ...held, version: "8" }, atMs: durationMs },
    to: seenAt(0, { ...held, version: "8" }),
    next: write({ ...held, version: "8" }),
  },
  {
    says: "the term of another is as long as the other says",
    from: seenAt(0),
    input: { saw: "lease", lease: { ...held, durationMs: 60_000 }, atMs: durationMs },
    to: seenAt(0, { ...held, durationMs: 60_000 }),
    next: look(retryMs),
  },
  {
    says: "one that was given back is taken at once",
    from: seenAt(0),
    input: { saw: "lease", lease: { ...held, holder: "" }, atMs: 10 },
    to: seenAt(10, { ...held, holder: "" }),
    next: write({ ...held, holder: "" }),
  },
  {
    says: "one that our predecessor in this container held is taken at once",
    from: standby,
    input: { saw: "lease", lease: ours, atMs: 10 },
    to: seenAt(10, ours),
    next: write(ours),
  },
  {
    says: "an accepted claim counts from when it was made",
    from: seenAt(0),
    input: { saw: "accepted", lease: ours, askedAtMs: 1000, atMs: 4000 },
    to: { at: "leading", lease: ours, untilMs: 1000 + renewWithinMs },
    next: write(ours, retryMs),
  },
  {
    says: "a claim that came too late changes nothing",
    from: seenAt(0),
    input: { saw: "conflict", atMs: 10 },
    to: seenAt(0),
    next: look(retryMs),
  },
  {
    says: "a renewal that conflicts is looked into at once",
    from: leading,
    input: { saw: "conflict", atMs: 10 },
    to: leading,
    next: look(0),
  },
  {
    says: "another holder ends the leadership",
    from: leading,
    input: { saw: "lease", lease: held, atMs: 10 },
    to: seenAt(10),
    next: look(retryMs),
  },
  {
    says: "our own renewal, the answer to which got lost, is no reason to end, nor does it prolong",
    from: leading,
    input: { saw: "lease", lease: { ...ours, version: "9" }, atMs: 10 },
    to: leading,
    next: write({ ...ours, version: "9" }),
  },
  {
    says: "a lease that someone deleted is created again",
    from: leading,
    input: { saw: "lease", lease: undefined, atMs: 10 },
    to: leading,
    next: write(undefined),
  },
  {
    says: "a failed renewal is repeated while there is time",
    from: leading,
    input: { saw: "failure", atMs: 49_999 },
    to: leading,
    next: look(retryMs),
  },
  ...(["failure", "conflict", "forbidden"] as const).map((saw) => ({
    says: `with ${saw}, time ends the leadership`,
    from: leading,
    input: { saw, atMs: 50_000 },
    to: seenAt(50_000, ours),
    next: look(saw === "conflict" ? 0 : retryMs),
  })),
  {
    says: "being forbidden to look is doubted at first",
    from: standby,
    input: { saw: "forbidden", atMs: 100 },
    to: { ...standby, refusedSinceMs: 100 },
    next: look(retryMs),
  },
  {
    says: "a server that does not answer has not forbidden anything",
    from: { ...standby, refusedSinceMs: 100 },
    input: { saw: "failure", atMs: 200 },
    to: standby,
    next: look(retryMs),
  },
  {
    says: "nor has one that shows a leader",
    from: { ...standby, refusedSinceMs: 100 },
    input: { saw: "lease", lease: held, atMs: 200 },
    to: seenAt(200),
    next: look(retryMs),
  },
  {
    says: "one that shows that there is no lease may still forbid to create it",
    from: { ...standby, refusedSinceMs: 100 },
    input: { saw: "lease", lease: undefined, atMs: 200 },
    to: { ...standby, refusedSinceMs: 100 },
    next: write(undefined),
  },
  {
    says: "forbidden for long, it works without an election",
    from: { ...standby, refusedSinceMs: 100 },
    input: { saw: "forbidden", atMs: 100 + durationMs },
    to: { at: "unguarded" },
    next: look(60_000),
  },
  {
    says: "and takes part in one as soon as it may",
    from: { at: "unguarded" },
    input: { saw: "lease", lease: held, atMs: 10 },
    to: seenAt(10),
    next: look(retryMs),
  },
];

it.for(rows)("$says", ({ from, input, to, next }) => {
  expect(advance(me, from, input)).toEqual([to, next]);
});

it("SC-7 forbidden for long, a process that requires the lease stays on standby", () => {
  const refused: State = { ...standby, at: "standby", refusedSinceMs: 100 };
  const input: Input = { saw: "forbidden", atMs: 100 + 10 * durationMs };
  expect(advance({ ...me, required: true }, refused, input)).toEqual([refused, look(retryMs)]);
});

it("a leader stops before another may begin", () => {
  // The other one sees the renewal when it is accepted or later, and its wait begins then.
  expect(renewWithinMs).toBeLessThan(durationMs);
});
