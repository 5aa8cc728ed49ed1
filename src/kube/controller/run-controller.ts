/** Workers that take keys from a queue and reconcile them. */
import { DriverError } from "../../core/errors.ts";
import { type Call, withFields } from "../../runtime/call.ts";
import { describeError, type LogFields } from "../../runtime/log.ts";
import { TurnLimit } from "../../runtime/turn-limit.ts";
import { ProblemLog } from "../problem-log.ts";
import type { Outcome, WorkQueue } from "./work-queue.ts";

export interface Controller<Key extends string> {
  readonly queue: WorkQueue<Key>;
  readonly workers: number;
  /** Brings the world to the wanted state for one key. Must be safe to repeat: after a failure it is called again. */
  readonly reconcile: (call: Call, key: Key) => Promise<Outcome>;
  /** What the key is about, for every log line of an attempt. */
  readonly fieldsOf?: ((key: Key) => LogFields) | undefined;
  /** Called after every attempt. Must not throw. */
  readonly onAttempt?: ((attempt: Attempt) => void) | undefined;
}

export interface Attempt {
  /** again: nothing went wrong, but there is more to do later. refused: an invalid object, which is left alone until it changes. */
  readonly result: Outcome["kind"] | "failed" | "refused";
  readonly seconds: number;
}

/**
 * Runs until the call is aborted, then lets every worker finish its key, and resolves. A failure of `reconcile` is logged and
 * brings the key back after a back-off; an invalid or unsupported object is left alone until it changes. Assumes that nobody else
 * takes keys from the queue. Keys that need no request do not hold the event loop, however many are ready (SC-5).
 */
export async function runController<Key extends string>(call: Call, controller: Controller<Key>): Promise<void> {
  const problems = new ProblemLog();
  const turn = new TurnLimit();
  const work = async () => {
    try {
      while (!call.signal.aborted) {
        // With a pause: one event of a watch may wake every idle worker.
        const key = await controller.queue.take(call, () => turn.pause());
        controller.queue.settle(key, await attempt(call, controller, key, problems));
      }
    } catch (error) {
      if (!call.signal.aborted) throw error;
    }
  };
  await Promise.all(Array.from({ length: controller.workers }, work));
}

/** A failed reconcile is logged here and nowhere else, and for every key only when the failure changes. */
async function attempt<Key extends string>(
  call: Call,
  { reconcile, fieldsOf, onAttempt }: Controller<Key>,
  key: Key,
  problems: ProblemLog,
): Promise<Outcome | Error> {
  const { log } = call;
  const about = { key, ...fieldsOf?.(key) };
  const startedAtMs = performance.now();
  const ended = (result: Attempt["result"]) =>
    onAttempt?.({ result, seconds: (performance.now() - startedAtMs) / 1000 });
  try {
    const outcome = await reconcile(withFields(call, about), key);
    ended(outcome.kind);
    problems.resolve(key);
    if (outcome.kind === "again") log.debug("reconcile again later", { ...about, ...outcome });
    return outcome;
  } catch (error) {
    if (call.signal.aborted) return { kind: "done" };
    const terminal = isTerminal(error);
    ended(terminal ? "refused" : "failed");
    problems.report(log, key, "reconcile failed", { ...about, error, terminal });
    if (terminal) return { kind: "done" };
    return error instanceof Error ? error : new Error(describeError(error), { cause: error });
  }
}

/** A retry does not help; a change of the objects brings the key back. */
function isTerminal(error: unknown): boolean {
  return error instanceof DriverError && (error.kind === "invalid" || error.kind === "unsupported");
}
