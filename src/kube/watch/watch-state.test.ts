import { expect, it } from "vitest";
import { advance, type Emit, type Input, initialState, pauseMs, type State } from "./watch-state.ts";

const habits = { failures: 0, listBy: "stream", fieldsBy: "server" } as const;
const list: State = { ...habits, at: "list" };
const listing: State = { ...habits, at: "listing" };
const watch: State = { ...habits, at: "watch", from: "7" };

const put = (object: string): Emit<string> => ({ emit: "put", object });
const change = { saw: "change", object: "a", version: "8", gone: false } as const;
const bookmark = { saw: "bookmark", version: "9", endsList: false } as const;
const page = { saw: "page", objects: ["a", "b"], version: "5", last: false } as const;

interface Row {
  readonly says: string;
  readonly from: State;
  readonly input: Input<string>;
  readonly to: State;
  readonly emits?: readonly Emit<string>[];
}

const rows: readonly Row[] = [
  {
    says: "an accepted list begins",
    from: list,
    input: { saw: "opened" },
    to: listing,
    emits: [{ emit: "begin" }],
  },
  {
    says: "a new look at everything begins at once, whatever failed before",
    from: { ...watch, failures: 3, listBy: "pages" },
    input: { saw: "stale", because: "outdated" },
    to: { ...list, listBy: "pages" },
  },
  { says: "an accepted watch changes nothing", from: watch, input: { saw: "opened" }, to: watch },
  {
    says: "objects of the first list are put, and no watch continues from their versions",
    from: listing,
    input: change,
    to: listing,
    emits: [put("a")],
  },
  {
    says: "the bookmark with the end annotation completes the list",
    from: { ...listing, failures: 3 },
    input: { ...bookmark, endsList: true },
    to: { ...watch, from: "9" },
    emits: [{ emit: "complete" }],
  },
  { says: "a bookmark without the annotation does not", from: listing, input: bookmark, to: listing },
  { says: "a page is put", from: listing, input: page, to: listing, emits: [put("a"), put("b")] },
  {
    says: "the last page completes the list",
    from: { ...listing, failures: 3 },
    input: { ...page, last: true },
    to: { ...watch, from: "5" },
    emits: [put("a"), put("b"), { emit: "complete" }],
  },
  {
    says: "a change moves on, and past failures are forgotten",
    from: { ...watch, failures: 4 },
    input: change,
    to: { ...watch, from: "8" },
    emits: [put("a")],
  },
  {
    says: "a deletion is passed on",
    from: watch,
    input: { ...change, gone: true },
    to: { ...watch, from: "8" },
    emits: [{ emit: "remove", object: "a" }],
  },
  { says: "a bookmark moves on", from: { ...watch, failures: 4 }, input: bookmark, to: { ...watch, from: "9" } },
  {
    says: "a lost watch continues where it was",
    from: { ...watch, failures: 1 },
    input: { saw: "lost" },
    to: { ...watch, failures: 2 },
  },
  {
    says: "SC-8 a quiet watch that was open for longer than the longest pause was no failure",
    from: { ...watch, failures: 9 },
    input: { saw: "lost", openMs: 15_000 },
    to: { ...watch, failures: 1 },
  },
  {
    says: "a watch that is closed again and again is a failure",
    from: { ...watch, failures: 9 },
    input: { saw: "lost", openMs: 14_999 },
    to: { ...watch, failures: 10 },
  },
  {
    says: "a list that takes long and breaks off is a failure",
    from: { ...listing, failures: 9 },
    input: { saw: "lost", openMs: 60_000 },
    to: { ...list, failures: 10 },
  },
  {
    says: "a list that broke off starts again",
    from: { ...listing, failures: 1 },
    input: { saw: "lost" },
    to: { ...list, failures: 2 },
  },
  {
    says: "a list that was not granted is asked for again",
    from: list,
    input: { saw: "lost" },
    to: { ...list, failures: 1 },
  },
  {
    says: "a forgotten version needs a list, soon, because the server is well",
    from: { ...watch, failures: 6 },
    input: { saw: "expired" },
    to: { ...list, failures: 1 },
  },
  {
    says: "a list that expires is repeated with growing pauses",
    from: { ...listing, failures: 6 },
    input: { saw: "expired" },
    to: { ...list, failures: 7 },
  },
  {
    says: "a silent server may have lost our version, so it is listed",
    from: watch,
    input: { saw: "stale", because: "silent" },
    to: { ...list, failures: 1 },
  },
  {
    says: "a server that cannot stream is asked for pages, at once",
    from: list,
    input: { saw: "refused", what: "stream" },
    to: { ...list, listBy: "pages" },
  },
  {
    says: "a server that cannot select fields is asked for all, at once",
    from: { ...list, listBy: "pages" },
    input: { saw: "refused", what: "fields" },
    to: { ...list, listBy: "pages", fieldsBy: "client" },
  },
  {
    says: "what the server cannot do is remembered for later lists",
    from: { ...watch, listBy: "pages", fieldsBy: "client" },
    input: { saw: "expired" },
    to: { ...list, failures: 1, listBy: "pages", fieldsBy: "client" },
  },
];

it.for(rows)("$says", ({ from, input, to, emits = [] }) => {
  expect(advance(from, input)).toEqual([to, ...emits]);
});

it("starts with a list in one stream", () => {
  expect(initialState).toEqual(list);
});

it.for([
  { failures: 0, least: 0, most: 0 },
  { failures: 1, least: 50, most: 100 },
  { failures: 4, least: 400, most: 800 },
  { failures: 9, least: 7500, most: 15_000 },
  { failures: 5000, least: 7500, most: 15_000 },
])("after $failures failures in a row it pauses $least to $most ms", ({ failures, least, most }) => {
  const state = { ...watch, failures };
  expect(pauseMs(state, 0)).toBe(least);
  expect(pauseMs(state, 0.999_999)).toBe(most);
});

it.for([
  { failures: 0, retryAfterMs: 2000, least: 2000, most: 2400 },
  { failures: 1, retryAfterMs: 2000, least: 2000, most: 2400 },
  { failures: 9, retryAfterMs: 2000, least: 7500, most: 15_000 },
  { failures: 1, retryAfterMs: 86_400_000, least: 60_000, most: 72_000 },
])("SC-6 after $failures failures and a Retry-After of $retryAfterMs ms it pauses $least to $most ms", (row) => {
  const state = { ...watch, failures: row.failures };
  expect(pauseMs(state, 0, row.retryAfterMs)).toBe(row.least);
  expect(pauseMs(state, 0.999_999, row.retryAfterMs)).toBe(row.most);
});
