import { describeError, type LogFields, type Logger } from "../runtime/log.ts";

/** Speaks when a trouble begins or changes and whispers while it repeats: what is retried must not fill the log. */
export class TroubleLog {
  readonly #current = new Map<string, string>();

  /** `about` tells independent troubles apart. */
  met(log: Logger, about: string, message: string, fields: LogFields & { readonly error: unknown }): void {
    const text = describeError(fields.error);
    if (this.#current.get(about) === text) log.debug(message, fields);
    else log.error(message, fields);
    this.#current.set(about, text);
  }

  /** True if there was a trouble until now. */
  over(about: string): boolean {
    return this.#current.delete(about);
  }
}
