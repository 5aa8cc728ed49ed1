/**
 * List-and-watch as a state machine. No sockets here, so every recovery path is a row of a table in the test.
 *
 *   list ──opened──▶ listing ──complete──▶ watch ──expired, stale──▶ list
 *    ▲  ▲              │                   │   ▲
 *    │  └─────lost─────┘                   └───┘ change, bookmark, lost
 *    └─ refused: the same again with less demanded
 */
export type State = Habits &
  (
    | { readonly at: "list" | "listing" }
    /** `from` is the last version seen: the server continues right after it. */
    | { readonly at: "watch"; readonly from: string }
  );

interface Habits {
  /** Failed attempts since the last useful answer. They decide the pause before the next attempt. */
  readonly failures: number;
  /** How the first list is read. Streaming needs a server with the WatchList feature. */
  readonly listBy: "stream" | "pages";
  /** Who applies the field selector. API servers before 1.31 know no field selectors for custom resources. */
  readonly fieldsBy: "server" | "client";
}

export type Input<Shape> =
  | { readonly saw: "opened" }
  | { readonly saw: "page"; readonly objects: readonly Shape[]; readonly version: string; readonly last: boolean }
  | { readonly saw: "change"; readonly object: Shape; readonly version: string; readonly gone: boolean }
  | { readonly saw: "bookmark"; readonly version: string; readonly endsList: boolean }
  /** The stream ended, broke or was refused. The same request may succeed later. `openMs`: how long the stream was open. */
  | { readonly saw: "lost"; readonly openMs?: number }
  /** 410: the server does not have the changes since our version any more. */
  | { readonly saw: "expired" }
  /**
   * silent: the connection is open, but not even a bookmark came. outdated: a caller needs the state of now, so the watch lists
   * again.
   */
  | { readonly saw: "stale"; readonly because: "silent" | "outdated" }
  | { readonly saw: "refused"; readonly what: "stream" | "fields" };

export type Emit<Shape> =
  /** The puts from here to `complete` are all objects that exist. Every other object is gone. */
  | { readonly emit: "begin" }
  | { readonly emit: "put"; readonly object: Shape }
  | { readonly emit: "remove"; readonly object: Shape }
  | { readonly emit: "complete" };

export const initialState: State = { at: "list", failures: 0, listBy: "stream", fieldsBy: "server" };

export function advance<Shape>(state: State, input: Input<Shape>): readonly [State, ...Emit<Shape>[]] {
  switch (input.saw) {
    case "opened":
      return opened(state);
    case "page":
      return listed(state, input);
    case "change":
      return [seen(state, input.version), { emit: input.gone ? "remove" : "put", object: input.object }];
    case "bookmark":
      return bookmarked(state, input);
    case "lost":
      return [lost(state, input.openMs)];
    case "expired":
      return [expired(state)];
    case "stale":
      return [relisting(state, input.because)];
    case "refused":
      return [refused(state, input.what)];
    default:
      return input satisfies never;
  }
}

const longestPauseMs = 15_000;
/** A longer Retry-After is not believed. */
const longestRetryAfterMs = 60_000;

/**
 * The pause before the next attempt, at least the time that the server asked for. It spreads the clients of a restarted API server over time, and keeps a client whose
 * connection is closed again and again out of a hot loop.
 *
 * `random` is in [0, 1).
 */
export function pauseMs(state: State, random: number, retryAfterMs = 0): number {
  // Up to a fifth more: clients that are all told the same must not come back at the same moment.
  const askedForMs = Math.min(retryAfterMs, longestRetryAfterMs) * (1 + random / 5);
  if (state.failures === 0) return Math.round(askedForMs);
  const full = Math.min(100 * 2 ** (state.failures - 1), longestPauseMs);
  return Math.round(Math.max((full * (1 + random)) / 2, askedForMs));
}

function opened<Shape>(state: State): readonly [State, ...Emit<Shape>[]] {
  return state.at === "list" ? [{ ...state, at: "listing" }, { emit: "begin" }] : [state];
}

function listed<Shape>(state: State, page: Input<Shape> & { saw: "page" }): readonly [State, ...Emit<Shape>[]] {
  const puts = page.objects.map((object) => ({ emit: "put", object }) as const);
  return page.last ? [watching(state, page.version), ...puts, { emit: "complete" }] : [state, ...puts];
}

function bookmarked<Shape>(
  state: State,
  bookmark: Input<Shape> & { saw: "bookmark" },
): readonly [State, ...Emit<Shape>[]] {
  const completes = state.at === "listing" && bookmark.endsList;
  return completes ? [watching(state, bookmark.version), { emit: "complete" }] : [seen(state, bookmark.version)];
}

/** A list comes in the order of names, so a watch cannot continue from the version of an object in it. */
function seen(state: State, version: string): State {
  return state.at === "watch" ? watching(state, version) : state;
}

function watching(state: State, from: string): State {
  return { ...habits(state), at: "watch", from, failures: 0 };
}

/**
 * A list that broke off does not prove that an object is gone, so it starts again. A watch that was open for longer than the longest pause
 * counts as progress, also if nothing happened in that time: a proxy that closes quiet connections is no reason to pause longer each time.
 */
function lost(state: State, openMs = 0): State {
  const failures = state.failures + 1;
  if (state.at !== "watch") return { ...state, at: "list", failures };
  return { ...state, failures: openMs >= longestPauseMs ? 1 : failures };
}

/** A silent server may never have reached our version, as after a restore of etcd from a backup. */
function relisting(state: State, because: "silent" | "outdated"): State {
  return { ...habits(state), at: "list", failures: because === "silent" ? state.failures + 1 : 0 };
}

/** The server answered, so earlier failures do not count. Usual after its restart: it has only the changes since then. */
function expired(state: State): State {
  return { ...habits(state), at: "list", failures: state.at === "watch" ? 1 : state.failures + 1 };
}

/** Not a failure: the server does not support the request, and does not get it again. */
function refused(state: State, what: "stream" | "fields"): State {
  const list = { ...habits(state), at: "list" } as const;
  return what === "stream" ? { ...list, listBy: "pages" } : { ...list, fieldsBy: "client" };
}

function habits({ failures, listBy, fieldsBy }: State): Habits {
  return { failures, listBy, fieldsBy };
}
