/** Leader election over a Lease, with the times of client-go. */
import { type Call, deadline } from "../../runtime/call.ts";
import { orAborted } from "../../runtime/or-aborted.ts";
import { nowWithSuspendMs } from "../../runtime/suspend-clock.ts";
import { ApiError } from "../client/api-error.ts";
import type { KubeClient } from "../client/client.ts";
import { kinds, type Lease } from "../kinds.ts";
import { ProblemLog } from "../problem-log.ts";
import { LeaseRight } from "./lease-right.ts";
import {
  advance,
  durationMs,
  firstLook,
  type Input,
  initialState,
  type LeaseRecord,
  type Next,
  type Participant,
  renewWithinMs,
  type State,
} from "./lease-state.ts";
import { Term } from "./term.ts";

export interface Candidate extends Participant {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** No two processes may have it at the same time. A process that replaces an ended one has the same, and need not wait. */
  readonly identity: string;
}

/** What a process does while it holds the lease, and how it learns that it may not use the lease that it requires. */
export interface Leadership {
  readonly work: (term: Term) => Promise<void>;
  /** Called after every answer about a required lease: whether the API server forbids its use. */
  readonly onForbidden?: (isForbidden: boolean) => void;
}

type Client = Pick<KubeClient, "get" | "create" | "patch">;

/**
 * Runs `work` while this process holds the lease. Guarantees that of all processes that call it with the same lease, one at a time
 * works: a term ends, and the work with it, before another process may acquire the lease. `work` may run several times.
 *
 * Resolves when the call is aborted, and releases the lease then, so that the next leader need not wait; or when `work` ends by
 * itself. Rejects with the failure of `work`. An account without any right to the lease leads without an election, as under
 * manifests of 2.x, which run one replica; if the candidate requires the lease, it stays on standby until it gets the right.
 *
 * `work` must stop when its term is aborted, and must write with `term.writer`: the abort alone does not stop a process that was
 * frozen.
 */
export async function lead(
  call: Call,
  client: Client,
  candidate: Candidate,
  { work, onForbidden }: Leadership,
): Promise<void> {
  const ended = new AbortController();
  const election = { log: call.log, signal: AbortSignal.any([call.signal, ended.signal]) };
  const terms = new Terms(call, work, ended);
  const right = new LeaseRight(call, candidate, onForbidden);
  const problems = new ProblemLog();
  let state: State = initialState;
  let next: Next = firstLook;
  try {
    while (true) {
      // Spread by up to a fifth, so that candidates do not all ask at the same time.
      await pause(election, next.afterMs * (1 + Math.random() / 5));
      const asked: Next = next;
      const input = await ask(election, client, candidate, { next: asked, problems });
      [state, next] = advance(candidate, state, input);
      right.follow(asked, input, next);
      await terms.follow(state);
    }
  } catch (error) {
    if (!election.signal.aborted) throw error;
  } finally {
    await terms.end();
    if (state.at === "leading") await release(call, client, candidate, state.lease);
  }
  terms.throwIfFailed();
}

/** Begins and ends the work as the election goes. */
class Terms {
  readonly #call: Call;
  readonly #work: (term: Term) => Promise<void>;
  /** Aborted when the work ends by itself. */
  readonly #ended: AbortController;
  #now: { readonly term: Term; readonly working: Promise<void> } | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(call: Call, work: (term: Term) => Promise<void>, ended: AbortController) {
    this.#call = call;
    this.#work = work;
    this.#ended = ended;
  }

  async follow(state: State): Promise<void> {
    if (state.at === "standby" || this.#now?.term.isOver) await this.end();
    if (state.at === "standby") return;
    const untilMs = state.at === "leading" ? state.untilMs : Infinity;
    if (this.#now === undefined) this.#begin(untilMs, state.at);
    else this.#now.term.extend(untilMs);
  }

  async end(): Promise<void> {
    if (this.#now === undefined) return;
    const { term, working } = this.#now;
    this.#now = undefined;
    term.end();
    await working;
    this.#call.log.info("no longer leading");
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #begin(untilMs: number, how: "leading" | "unguarded"): void {
    if (how === "leading") this.#call.log.info("leading: the lease is ours");
    else
      this.#call.log.info("leading without an election: this account may not use the lease, so run one replica only");
    const term = new Term(this.#call, untilMs);
    this.#now = { term, working: this.#run(term) };
  }

  async #run(term: Term): Promise<void> {
    try {
      await this.#work(term);
    } catch (error) {
      if (!term.signal.aborted) this.#failure = { error };
    }
    if (!term.signal.aborted) this.#ended.abort();
  }
}

async function pause(call: Call, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await orAborted(call, promise);
  } finally {
    clearTimeout(timer);
  }
}

/** Half of the time that a renewal may take: after a request that hangs there is time for another. */
const answerLimitMs = renewWithinMs / 2;

async function ask(
  call: Call,
  client: Client,
  candidate: Candidate,
  { next, problems }: { readonly next: Next; readonly problems: ProblemLog },
): Promise<Input> {
  const askedAtMs = nowWithSuspendMs();
  using limited = deadline(call, answerLimitMs, "an answer about the lease");
  try {
    const answer =
      next.do === "look"
        ? ({ saw: "lease", lease: recordFrom(await client.get(limited, kinds.leases, candidate.lease)) } as const)
        : ({ saw: "accepted", lease: await write(limited, client, candidate, next.over), askedAtMs } as const);
    problems.resolve("lease");
    return { ...answer, atMs: nowWithSuspendMs() };
  } catch (error) {
    call.signal.throwIfAborted();
    const saw = failureIn(error, next);
    if (saw !== "conflict")
      problems.report(call.log, "lease", "failed to acquire or renew the lease", { ...candidate, error });
    return { saw, atMs: nowWithSuspendMs() };
  }
}

function failureIn(error: unknown, next: Next): "conflict" | "forbidden" | "failure" {
  if (!(error instanceof ApiError)) return "failure";
  if (error.isForbidden) return "forbidden";
  // "Not found" on creation means that the namespace is missing, and another look does not help.
  const vanished = error.isNotFound && next.do === "write" && next.over !== undefined;
  return error.isConflict || error.isAlreadyExists || vanished ? "conflict" : "failure";
}

/** Acquires or renews the lease. The API server refuses that (Conflict) if the lease has changed since it was read. */
async function write(
  call: Call,
  client: Client,
  { lease, identity }: Candidate,
  over: LeaseRecord | undefined,
): Promise<LeaseRecord> {
  const renewTime = now();
  const hasNewHolder = over !== undefined && over.holder !== identity;
  const spec = {
    holderIdentity: identity,
    leaseDurationSeconds: durationMs / 1000,
    renewTime,
    ...(over?.holder !== identity && { acquireTime: renewTime }),
    leaseTransitions: (over?.transitions ?? 0) + Number(hasNewHolder),
  };
  const written =
    over === undefined
      ? await client.create(call, kinds.leases, { metadata: lease, spec } as { metadata: Candidate["lease"] })
      : await client.patch(call, kinds.leases, lease, { metadata: { resourceVersion: over.version }, spec });
  return recordFrom(written);
}

/** Has a limit of its own, because the call is aborted already. A failure costs the next leader 15 seconds and nothing else. */
async function release({ log }: Call, client: Client, { lease }: Candidate, held: LeaseRecord): Promise<void> {
  using limited = deadline({ log, signal: new AbortController().signal }, answerLimitMs, "the lease to be released");
  const spec = { holderIdentity: null, acquireTime: null, leaseDurationSeconds: 1, renewTime: now() };
  try {
    await client.patch(limited, kinds.leases, lease, { metadata: { resourceVersion: held.version }, spec });
    log.info("lease released");
  } catch (error) {
    log.error("failed to release the lease", { error });
  }
}

function recordFrom(lease: Lease): LeaseRecord;
function recordFrom(lease: Lease | undefined): LeaseRecord | undefined;
function recordFrom(lease: Lease | undefined): LeaseRecord | undefined {
  if (lease === undefined) return undefined;
  const { holderIdentity, leaseDurationSeconds, renewTime, leaseTransitions } = lease.spec ?? {};
  return {
    holder: holderIdentity ?? "",
    renewTime: renewTime ?? "",
    durationMs: leaseDurationSeconds ? 1000 * leaseDurationSeconds : durationMs,
    transitions: leaseTransitions ?? 0,
    version: lease.metadata.resourceVersion,
  };
}

/** The API server accepts no other precision than microseconds. */
function now(): string {
  return new Date().toISOString().replace("Z", "000Z");
}
