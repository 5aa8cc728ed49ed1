import { describeError, type LogFields, type Logger } from "../runtime/log.ts";

/**
 * Keeps work that is retried from filling the log: a problem is logged as an error when it begins or its text changes, and with
 * level debug while it repeats.
 */
export class ProblemLog {
  readonly #current = new Map<string, string>();

  /** `about` keeps problems apart that begin and end independently, such as those of two keys. */
  report(log: Logger, about: string, message: string, fields: LogFields & { readonly error: unknown }): void {
    const text = describeError(fields.error);
    if (this.#current.get(about) === text) log.debug(message, fields);
    else log.error(message, fields);
    this.#current.set(about, text);
  }

  /** The caller calls this after every success. Returns true if that ended a problem. */
  resolve(about: string): boolean {
    return this.#current.delete(about);
  }
}
