/** List and watch: keeps a store equal to what the API server has. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../../runtime/call.ts";
import { ApiError, statusError } from "../client/api-error.ts";
import type { KubeClient, Selection, WatchEvent } from "../client/client.ts";
import { SilenceError } from "../client/transport.ts";
import type { Kind, KubeObject } from "../kinds.ts";
import { ProblemLog } from "../problem-log.ts";
import type { WatchFreshness } from "./freshness.ts";
import { type Intern, interner } from "./intern.ts";
import { type Feed, keyOf } from "./store.ts";
import { advance, type Emit, type Input, initialState, pauseMs, type State } from "./watch-state.ts";

export interface Watched<Shape, Kept> extends Selection {
  readonly kind: Kind<Shape>;
  /** Which objects enter the store. Repeats a field selector on a custom resource: servers before 1.31 cannot apply it. */
  readonly keep?: (object: Shape) => boolean;
  /** The few fields that the store keeps. Throws for an object that cannot be understood; the watch then leaves that object out. */
  readonly trim: (object: Shape, intern: Intern) => Kept;
  /** Called for every event and every failure, so at least every few minutes. */
  readonly turned?: () => void;
  /** Called at the same moments: whether the watch follows the server, or has lost it. */
  readonly follows?: (follows: boolean) => void;
  /** Lets other code ask for a new list. */
  readonly freshness?: WatchFreshness;
}

export type Watcher = Pick<KubeClient, "pages" | "watch">;

/**
 * Keeps the store equal to the objects of the API server until the call is aborted, and resolves then. Recovers from every
 * failure of the server or the connection, and logs each of them once. The store is synced after the first complete list.
 *
 * Assumes that nothing else writes the store. The caller must start it before it waits for the store to be synced.
 */
export async function watch<Shape extends KubeObject, Kept>(
  call: Call,
  client: Watcher,
  what: Watched<Shape, Kept>,
  store: Feed<Kept>,
): Promise<void> {
  let askedAtMs = 0;
  const apply = applier(call, what, store, () => askedAtMs);
  const problems = new ProblemLog();
  const { kind } = what.kind;
  let state = initialState;
  let retryAfterMs: number | undefined;
  let openedAtMs = Infinity;
  const lost = () => ({ saw: "lost", openMs: Math.max(0, performance.now() - openedAtMs) }) as const;
  const take = (input: Input<Shape>) => {
    openedAtMs = input.saw === "opened" ? performance.now() : openedAtMs;
    what.turned?.();
    const [next, ...emits] = advance(state, input);
    state = next;
    for (const emit of emits) apply(emit);
  };
  while (!call.signal.aborted) {
    const attempt = untilOutdated(call, what.freshness);
    openedAtMs = Infinity;
    try {
      await sleep(pauseMs(state, Math.random(), retryAfterMs), undefined, { signal: attempt.signal });
      askedAtMs = noteAsked(what);
      for await (const input of open(attempt, client, what, state)) {
        // Events that arrived before the abort are older than the state that a caller asked for.
        attempt.signal.throwIfAborted();
        if (problems.resolve(kind)) call.log.info("watch recovered", { kind });
        noteReceived(what);
        take(input);
      }
      retryAfterMs = undefined;
      take(lost());
    } catch (error) {
      if (call.signal.aborted) return;
      retryAfterMs = retryAfterIn(error);
      const input = inputFrom(attempt, error, state, lost);
      if (isFailure(input)) {
        problems.report(call.log, kind, problemIn(state, kind), { kind, error });
        what.follows?.(false);
      } else call.log.debug("watch starts again", { kind, error, saw: input.saw });
      take(input);
    } finally {
      what.freshness?.lost();
    }
  }
}

function noteAsked({ freshness }: Pick<Watched<never, unknown>, "freshness">): number {
  freshness?.received();
  return performance.now();
}

function noteReceived({ follows, freshness }: Pick<Watched<never, unknown>, "follows" | "freshness">): void {
  follows?.(true);
  freshness?.received();
}

function untilOutdated({ log, signal }: Call, freshness: WatchFreshness | undefined): Call {
  return { log, signal: freshness === undefined ? signal : AbortSignal.any([signal, freshness.signal()]) };
}

/** The next request for this state, and its answer as inputs of the state machine. */
async function* open<Shape extends KubeObject>(
  call: Call,
  client: Watcher,
  what: Watched<Shape, unknown>,
  state: State,
): AsyncGenerator<Input<Shape>> {
  const selection = state.fieldsBy === "server" ? what : { ...what, fieldSelector: undefined };
  const stream = (parameters: Readonly<Record<string, string>>) =>
    streamed(client.watch(call, what.kind, selection, { ...streamParameters(), ...parameters }));

  if (state.at === "watch") {
    yield* stream({ resourceVersion: state.from });
  } else if (state.listBy === "stream") {
    // Without a version this is a consistent read: the list is at least as new as the request.
    yield* stream({ sendInitialEvents: "true", resourceVersionMatch: "NotOlderThan" });
  } else {
    let version = "";
    for await (const page of client.pages(call, what.kind, selection)) {
      // Not before the first answer: a server that refuses every list is not followed.
      if (version === "") yield { saw: "opened" };
      version = page.version;
      yield { saw: "page", ...page };
    }
    yield* stream({ resourceVersion: version });
  }
}

async function* streamed<Shape extends KubeObject>(
  stream: Promise<AsyncGenerator<WatchEvent<Shape>>>,
): AsyncGenerator<Input<Shape>> {
  const events = await stream;
  yield { saw: "opened" };
  for await (const event of events) {
    if (event.type === "ERROR") throw statusError(event.object);
    const { object } = event;
    const version = object.metadata.resourceVersion;
    yield event.type === "BOOKMARK"
      ? { saw: "bookmark", version, endsList: object.metadata.annotations?.[endOfList] === "true" }
      : { saw: "change", version, object, gone: event.type === "DELETED" };
  }
}

const endOfList = "k8s.io/initial-events-end";

/** The server ends a watch after 5 to 10 minutes, at random, so that watches spread over all API servers again. */
function streamParameters(): Readonly<Record<string, string>> {
  return { allowWatchBookmarks: "true", timeoutSeconds: String(300 + Math.floor(Math.random() * 300)) };
}

/** Operators search for the second text: it means that the CRD or a right is missing. */
function problemIn(state: State, kind: string): string {
  return state.at === "watch" ? "watch interrupted" : `Failed to list ${kind}s`;
}

function isFailure(input: Input<never>): boolean {
  return input.saw === "lost" || (input.saw === "stale" && input.because === "silent");
}

function inputFrom({ signal }: Call, error: unknown, state: State, lost: () => Input<never>): Input<never> {
  if (signal.aborted) return { saw: "stale", because: "outdated" };
  if (error instanceof ApiError) return error.isGone ? { saw: "expired" } : (refusal(error, state) ?? lost());
  return error instanceof Error && error.cause instanceof SilenceError ? { saw: "stale", because: "silent" } : lost();
}

function retryAfterIn(error: unknown): number | undefined {
  return error instanceof ApiError ? error.retryAfterMs : undefined;
}

/** Depends on what the request asked for, so that the watch gives up each feature at most once. */
function refusal({ code, message }: ApiError, state: State): Input<never> | undefined {
  if (code === 400 && state.fieldsBy === "server" && message.includes("field label not supported")) {
    return { saw: "refused", what: "fields" };
  }
  // A server without the WatchList feature (1.33 by default, others with the gate turned off) answers that the request is invalid.
  const askedForStream = state.at !== "watch" && state.listBy === "stream";
  return askedForStream && (code === 422 || code === 400) ? { saw: "refused", what: "stream" } : undefined;
}

function applier<Shape extends KubeObject, Kept>(
  call: Call,
  what: Watched<Shape, Kept>,
  store: Feed<Kept>,
  askedAtMs: () => number,
): (emit: Emit<Shape>) => void {
  const intern = interner();
  const problems = new ProblemLog();
  const keptOf = (key: string, object: Shape): Kept | undefined => {
    try {
      return what.keep === undefined || what.keep(object) ? what.trim(object, intern) : undefined;
    } catch (error) {
      // One object that cannot be understood must not end the watch over all others.
      const { kind } = what.kind;
      problems.report(call.log, kind, "object cannot be understood and is left out", { kind, key, error });
      return undefined;
    }
  };
  const put = (object: Shape) => {
    const key = keyOf(object.metadata);
    const kept = keptOf(key, object);
    // The store may have kept an earlier version of an object that it does not keep now.
    if (kept === undefined) store.remove(key);
    else store.put(key, object.metadata.resourceVersion, kept);
  };
  return (emit) => {
    switch (emit.emit) {
      case "begin":
        what.freshness?.begun();
        return store.begin(askedAtMs());
      case "put":
        return put(emit.object);
      case "remove":
        return store.remove(keyOf(emit.object.metadata));
      case "complete":
        store.complete();
        return what.freshness?.completed();
      default:
        return emit satisfies never;
    }
  };
}
