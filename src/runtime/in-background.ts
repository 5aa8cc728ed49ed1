import type { Logger } from "./log.ts";

/**
 * Lets work go on that nobody waits for. Node ends a process in which a rejection has no handler; here every rejection has
 * one from the first moment, and is logged.
 */
export function inBackground(log: Logger, what: string, work: Promise<unknown>): void {
  work.catch((error: unknown) => log.error("background work failed", { work: what, error }));
}
