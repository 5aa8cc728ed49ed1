/**
 * Leader election as a state machine. No server and no clock here, so every way to win and to lose is a row of a table in
 * the test.
 *
 *   standby ──it is free, and our claim is accepted──▶ leading ──renewed──▶ leading
 *    ▲  │  ▲                                              │
 *    │  │  └──taken by another, or not renewed in time────┘
 *    │  └──forbidden, again and again──▶ unguarded
 *    └──allowed after all──────────────────┘
 *
 * All moments are those of our own clock, which only moves forward. What another machine's clock says is compared for
 * being the same as before and never read as a time.
 */
export type State =
  | {
      readonly at: "standby";
      readonly seen: Sighting | undefined;
      /** From when on we were forbidden everything that we asked for. */
      readonly refusedSinceMs: number | undefined;
    }
  | { readonly at: "leading"; readonly lease: LeaseRecord; readonly untilMs: number }
  /** There is no right to a lease, so there is no election: everyone works. */
  | { readonly at: "unguarded" };

/** What stands in the Lease. */
export interface LeaseRecord {
  /** Empty: given back. */
  readonly holder: string;
  readonly renewTime: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly version: string;
}

interface Sighting {
  readonly lease: LeaseRecord;
  /** When we first saw it as it is. */
  readonly sinceMs: number;
}

export type Input = { readonly atMs: number } /** undefined: there is none. */ & (
  | { readonly saw: "lease"; readonly lease: LeaseRecord | undefined }
  /** Our claim or renewal stands. Others count from when they see it, hence later than we, who count from asking. */
  | { readonly saw: "accepted"; readonly lease: LeaseRecord; readonly askedAtMs: number }
  /** Someone wrote since we looked: perhaps we, with an answer that got lost. */
  | { readonly saw: "conflict" }
  | { readonly saw: "forbidden" }
  | { readonly saw: "failure" }
);

/** What to ask of the server next, and when. A claim or a renewal holds for the version that `over` has. */
export type Next =
  | { readonly do: "look"; readonly afterMs: number }
  | { readonly do: "write"; readonly over: LeaseRecord | undefined; readonly afterMs: number };

/** As in client-go. A leader stops well before others may begin: what it has sent by then has arrived. */
export const durationMs = 15_000;
export const renewWithinMs = 10_000;
export const retryMs = 2000;
/** Rights that were forgotten are granted some day. */
const rightsMs = 60_000;

export const initialState: State & { at: "standby" } = { at: "standby", seen: undefined, refusedSinceMs: undefined };
export const firstLook: Next = { do: "look", afterMs: 0 };

export function advance(me: string, state: State, input: Input): readonly [State, Next] {
  switch (input.saw) {
    case "lease":
      return state.at === "leading" ? recognised(me, state, input) : looked(me, state, input);
    case "accepted":
      return [
        { at: "leading", lease: input.lease, untilMs: input.askedAtMs + renewWithinMs },
        { do: "write", over: input.lease, afterMs: retryMs },
      ];
    case "conflict":
      return [kept(state, input.atMs), { do: "look", afterMs: state.at === "leading" ? 0 : retryMs }];
    case "forbidden":
      return forbidden(state, input.atMs);
    case "failure":
      return failed(state, input.atMs);
    default:
      return input satisfies never;
  }
}

type Leading = State & { at: "leading" };
type Look = Input & { saw: "lease" };

function looked(me: string, state: Exclude<State, Leading>, { lease, atMs }: Look): readonly [State, Next] {
  const { seen, refusedSinceMs } = state.at === "standby" ? state : initialState;
  if (lease === undefined) {
    return [
      { at: "standby", seen: undefined, refusedSinceMs },
      { do: "write", over: undefined, afterMs: 0 },
    ];
  }
  const sinceMs = seen !== undefined && isSame(seen.lease, lease) ? seen.sinceMs : atMs;
  // Ours: a container that was killed is started anew only when its former process is gone, and need not wait for it.
  const free = lease.holder === "" || lease.holder === me || atMs - sinceMs >= lease.durationMs;
  return [
    { at: "standby", seen: { lease, sinceMs }, refusedSinceMs: free ? refusedSinceMs : undefined },
    free ? { do: "write", over: lease, afterMs: 0 } : { do: "look", afterMs: retryMs },
  ];
}

/** After a conflict, or an answer that did not come: the holder's name tells who wrote. */
function recognised(me: string, state: Leading, { lease, atMs }: Look): readonly [State, Next] {
  if (lease !== undefined && lease.holder !== me) {
    const seen = { lease, sinceMs: atMs };
    return [
      { at: "standby", seen, refusedSinceMs: undefined },
      { do: "look", afterMs: retryMs },
    ];
  }
  return [kept(state, atMs), { do: "write", over: lease, afterMs: 0 }];
}

/** A server that is starting may not have read its rules yet: only a refusal that lasts is believed. */
function forbidden(state: State, atMs: number): readonly [State, Next] {
  if (state.at !== "standby") return failed(state, atMs);
  const refusedSinceMs = state.refusedSinceMs ?? atMs;
  if (atMs - refusedSinceMs >= durationMs) return failed({ at: "unguarded" }, atMs);
  return [
    { ...state, refusedSinceMs },
    { do: "look", afterMs: retryMs },
  ];
}

function failed(state: State, atMs: number): readonly [State, Next] {
  const next = kept(state, atMs);
  return [
    next.at === "standby" ? { ...next, refusedSinceMs: undefined } : next,
    { do: "look", afterMs: next.at === "unguarded" ? rightsMs : retryMs },
  ];
}

/** The same, unless it is a leadership that has run out. */
function kept(state: State, atMs: number): State {
  if (state.at !== "leading" || atMs < state.untilMs) return state;
  return { at: "standby", seen: { lease: state.lease, sinceMs: atMs }, refusedSinceMs: undefined };
}

function isSame(a: LeaseRecord, b: LeaseRecord): boolean {
  return a.holder === b.holder && a.renewTime === b.renewTime;
}
