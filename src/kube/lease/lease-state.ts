/**
 * Leader election as a state machine. It has neither a server nor a clock, so the test is a table of all transitions.
 *
 *   standby ──lease is free, and our write succeeds──▶ leading ──renewed──▶ leading
 *    ▲  │  ▲                                              │
 *    │  │  └──another holds it, or not renewed in time────┘
 *    │  └──forbidden for 15 seconds──▶ unguarded, unless the lease is required
 *    └──no longer forbidden────────────────┘
 *
 * All moments are those of our own clock, which counts the time that the machine was suspended (`nowWithSuspendMs`): others take the
 * lease meanwhile. Times in the Lease come from clocks of other machines: they are only compared for equality with what was seen before.
 */
export type State =
  | {
      readonly at: "standby";
      readonly seen: Sighting | undefined;
      /** Since when the API server has forbidden every request of ours. */
      readonly refusedSinceMs: number | undefined;
    }
  | { readonly at: "leading"; readonly lease: LeaseRecord; readonly untilMs: number }
  /** The account has no right to the lease, so there is no election: every process works. */
  | { readonly at: "unguarded" };

/** The fields of the Lease that the election uses. */
export interface LeaseRecord {
  /** Empty: released. */
  readonly holder: string;
  readonly renewTime: string;
  readonly durationMs: number;
  readonly transitions: number;
  readonly version: string;
}

interface Sighting {
  readonly lease: LeaseRecord;
  /** When we first saw the lease in this state. */
  readonly sinceMs: number;
  /** Since then there is no lease. */
  readonly isDeleted?: true;
}

/** Who takes part in the election. */
export interface Participant {
  readonly identity: string;
  /** SC-7. Without a right to the lease, the process stays on standby. False: it works without an election, as under manifests of 2.x. */
  readonly required: boolean;
}

export type Input = { readonly atMs: number } /** undefined: there is none. */ & (
  | { readonly saw: "lease"; readonly lease: LeaseRecord | undefined }
  /** The write succeeded. Others count from when they see it, so later than we, who count from the request. */
  | { readonly saw: "accepted"; readonly lease: LeaseRecord; readonly askedAtMs: number }
  /** The lease was written since we read it: perhaps by our own request whose answer got lost. */
  | { readonly saw: "conflict" }
  | { readonly saw: "forbidden" }
  | { readonly saw: "failure" }
);

/** The next request, and when to send it. A write is conditional on the version of `over`. */
export type Next =
  | { readonly do: "look"; readonly afterMs: number }
  | { readonly do: "write"; readonly over: LeaseRecord | undefined; readonly afterMs: number };

/** As in client-go. A leader stops 5 seconds before others may begin, so that its last requests have arrived by then. */
export const durationMs = 15_000;
export const renewWithinMs = 10_000;
export const retryMs = 2000;
/** How often to ask again without a right to the lease: an administrator may grant it. */
const rightsMs = 60_000;

export const initialState: State & { at: "standby" } = { at: "standby", seen: undefined, refusedSinceMs: undefined };
export const firstLook: Next = { do: "look", afterMs: 0 };

export function advance(me: Participant, state: State, input: Input): readonly [State, Next] {
  switch (input.saw) {
    case "lease":
      return state.at === "leading" ? recognised(me.identity, state, input) : looked(me.identity, state, input);
    case "accepted":
      return [
        { at: "leading", lease: input.lease, untilMs: input.askedAtMs + renewWithinMs },
        { do: "write", over: input.lease, afterMs: retryMs },
      ];
    case "conflict":
      return [kept(state, input.atMs), { do: "look", afterMs: state.at === "leading" ? 0 : retryMs }];
    case "forbidden":
      return forbidden(me, state, input.atMs);
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
    const deleted = deletedUnder(me, seen, atMs);
    return [
      { at: "standby", seen: deleted, refusedSinceMs },
      deleted === undefined ? { do: "write", over: undefined, afterMs: 0 } : { do: "look", afterMs: retryMs },
    ];
  }
  const sinceMs = seen !== undefined && isSame(seen, lease) ? seen.sinceMs : atMs;
  // Our own identity: kubelet starts a killed container again only after its process is gone, so there is nothing to wait for.
  const free = lease.holder === "" || lease.holder === me || atMs - sinceMs >= lease.durationMs;
  return [
    { at: "standby", seen: { lease, sinceMs }, refusedSinceMs: free ? refusedSinceMs : undefined },
    free ? { do: "write", over: lease, afterMs: 0 } : { do: "look", afterMs: retryMs },
  ];
}

/**
 * A lease that was deleted under its holder is not free before its holder must have stopped: the holder may have renewed it just before
 * the deletion, and notices the deletion only at its next renewal. undefined: nobody can hold it.
 */
function deletedUnder(me: string, seen: Sighting | undefined, atMs: number): Sighting | undefined {
  if (seen === undefined || seen.lease.holder === "" || seen.lease.holder === me) return undefined;
  const { lease, sinceMs } = seen.isDeleted ? seen : { lease: seen.lease, sinceMs: atMs };
  return atMs - sinceMs < lease.durationMs ? { lease, sinceMs, isDeleted: true } : undefined;
}

/** After a conflict or a lost answer, the name of the holder shows who wrote. */
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

/** An API server that is starting may not have read its RBAC rules yet, so only a refusal that lasts counts. */
function forbidden({ required }: Participant, state: State, atMs: number): readonly [State, Next] {
  if (state.at !== "standby") return failed(state, atMs);
  const refusedSinceMs = state.refusedSinceMs ?? atMs;
  if (!required && atMs - refusedSinceMs >= durationMs) return failed({ at: "unguarded" }, atMs);
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

/** The same state, unless its term has expired. */
function kept(state: State, atMs: number): State {
  if (state.at !== "leading" || atMs < state.untilMs) return state;
  return { at: "standby", seen: { lease: state.lease, sinceMs: atMs }, refusedSinceMs: undefined };
}

function isSame({ lease: a, isDeleted }: Sighting, b: LeaseRecord): boolean {
  return isDeleted === undefined && a.holder === b.holder && a.renewTime === b.renewTime;
}
