import type { Logger } from "./log.ts";

/**
 * Lets work go on without a caller that awaits it. A failure is logged: Node would end the process for a rejection without a
 * handler.
 */
export function inBackground(log: Logger, what: string, work: Promise<unknown>): void {
  work.catch((error: unknown) => log.error("background work failed", { work: what, error }));
}
