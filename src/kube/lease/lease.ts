/** Leader election over a Lease: of all that call this with the same lease, one at a time works. */
import { type Call, deadline } from "../../runtime/call.ts";
import { ApiError } from "../client/api-error.ts";
import type { KubeClient } from "../client/client.ts";
import { kinds, type Lease } from "../kinds.ts";
import { orAborted } from "../or-aborted.ts";
import { ProblemLog } from "../problem-log.ts";
import {
  advance,
  durationMs,
  firstLook,
  type Input,
  initialState,
  type LeaseRecord,
  type Next,
  renewWithinMs,
  type State,
} from "./lease-state.ts";
import { Term } from "./term.ts";

export interface Candidate {
  readonly lease: { readonly namespace: string; readonly name: string };
  /** No two processes have it at the same time; one that is started in the place of another has the same. */
  readonly identity: string;
}

type Client = Pick<KubeClient, "get" | "create" | "patch">;

/**
 * Runs the work whenever it is our turn, and ends it, before another may begin, when it no longer is. Ends when the call
 * does, giving the lease back so that the next one need not wait; or when the work does.
 */
export async function lead(
  call: Call,
  client: Client,
  candidate: Candidate,
  work: (term: Term) => Promise<void>,
): Promise<void> {
  const ended = new AbortController();
  const until = { log: call.log, signal: AbortSignal.any([call.signal, ended.signal]) };
  const turns = new Turns(call, work, ended);
  const problems = new ProblemLog();
  let state: State = initialState;
  let next: Next = firstLook;
  try {
    while (true) {
      // Spread a little, so that those who wait do not all ask at once.
      await pause(until, next.afterMs * (1 + Math.random() / 5));
      [state, next] = advance(candidate.identity, state, await ask(until, client, candidate, { next, problems }));
      await turns.follow(state);
    }
  } catch (error) {
    if (!until.signal.aborted) throw error;
  } finally {
    await turns.end();
    if (state.at === "leading") await giveBack(call, client, candidate, state.lease);
  }
  turns.throwIfFailed();
}

/** The work, begun and ended as the election goes. */
class Turns {
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

/** Half of the time that a renewal may take: after one that hangs there is time for another. */
const answerLimitMs = renewWithinMs / 2;

async function ask(
  call: Call,
  client: Client,
  candidate: Candidate,
  { next, problems }: { readonly next: Next; readonly problems: ProblemLog },
): Promise<Input> {
  const askedAtMs = performance.now();
  using limited = deadline(call, answerLimitMs, "an answer about the lease");
  try {
    const answer =
      next.do === "look"
        ? ({ saw: "lease", lease: recordFrom(await client.get(limited, kinds.leases, candidate.lease)) } as const)
        : ({ saw: "accepted", lease: await write(limited, client, candidate, next.over), askedAtMs } as const);
    problems.resolve("lease");
    return { ...answer, atMs: performance.now() };
  } catch (error) {
    call.signal.throwIfAborted();
    const saw = failureIn(error, next);
    if (saw !== "conflict")
      problems.report(call.log, "lease", "failed to acquire or renew the lease", { ...candidate, error });
    return { saw, atMs: performance.now() };
  }
}

function failureIn(error: unknown, next: Next): "conflict" | "forbidden" | "failure" {
  if (!(error instanceof ApiError)) return "failure";
  if (error.isForbidden) return "forbidden";
  // Not found on creation is a namespace that is missing, which looking again does not mend.
  const vanished = error.isNotFound && next.do === "write" && next.over !== undefined;
  return error.isConflict || error.isAlreadyExists || vanished ? "conflict" : "failure";
}

/** Takes the lease, or renews it, exactly as it was seen. */
async function write(
  call: Call,
  client: Client,
  { lease, identity }: Candidate,
  over: LeaseRecord | undefined,
): Promise<LeaseRecord> {
  const renewTime = now();
  const changesHands = over !== undefined && over.holder !== identity;
  const spec = {
    holderIdentity: identity,
    leaseDurationSeconds: durationMs / 1000,
    renewTime,
    ...(over?.holder !== identity && { acquireTime: renewTime }),
    leaseTransitions: (over?.transitions ?? 0) + Number(changesHands),
  };
  const written =
    over === undefined
      ? await client.create(call, kinds.leases, { metadata: lease, spec } as { metadata: Candidate["lease"] })
      : await client.patch(call, kinds.leases, lease, { metadata: { resourceVersion: over.version }, spec });
  return recordFrom(written);
}

/** What the call ended with is no reason to keep it; a failure costs the next one 15 seconds and nothing else. */
async function giveBack({ log }: Call, client: Client, { lease }: Candidate, held: LeaseRecord): Promise<void> {
  using limited = deadline({ log, signal: new AbortController().signal }, answerLimitMs, "the lease to be given back");
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

/** The API server insists on microseconds. */
function now(): string {
  return new Date().toISOString().replace("Z", "000Z");
}
