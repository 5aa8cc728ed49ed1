/** Workers that take keys and reconcile them, until the call ends. */
import { DriverError } from "../../core/errors.ts";
import { type Call, withFields } from "../../runtime/call.ts";
import { describeError } from "../../runtime/log.ts";
import { TroubleLog } from "../trouble-log.ts";
import type { Outcome, WorkQueue } from "./work-queue.ts";

export interface Controller<Key extends string> {
  readonly queue: WorkQueue<Key>;
  readonly workers: number;
  readonly reconcile: (call: Call, key: Key) => Promise<Outcome>;
}

export async function runController<Key extends string>(call: Call, controller: Controller<Key>): Promise<void> {
  const troubles = new TroubleLog();
  const work = async () => {
    try {
      while (!call.signal.aborted) {
        const key = await controller.queue.take(call);
        controller.queue.settle(key, await attempt(call, controller, key, troubles));
      }
    } catch (error) {
      if (!call.signal.aborted) throw error;
    }
  };
  // Ends when the last worker has put down what it had in hands.
  await Promise.all(Array.from({ length: controller.workers }, work));
}

/** The edge at which a failed reconcile stops travelling: logged here, and for every key only when it changes. */
async function attempt<Key extends string>(
  call: Call,
  { reconcile }: Controller<Key>,
  key: Key,
  troubles: TroubleLog,
): Promise<Outcome | Error> {
  const { log } = call;
  try {
    const outcome = await reconcile(withFields(call, { key }), key);
    troubles.over(key);
    if (outcome.kind === "again") log.debug("reconcile again later", { key, ...outcome });
    return outcome;
  } catch (error) {
    if (call.signal.aborted) return { kind: "done" };
    const terminal = isTerminal(error);
    troubles.met(log, key, "reconcile failed", { key, error, terminal });
    if (terminal) return { kind: "done" };
    return error instanceof Error ? error : new Error(describeError(error), { cause: error });
  }
}

/** Trying again does not help; a change of the objects brings the key back. */
function isTerminal(error: unknown): boolean {
  return error instanceof DriverError && (error.kind === "invalid" || error.kind === "unsupported");
}
