import type { Access } from "../../core/access.ts";

/** How long an answer counts that is not positive. A right that was granted is missing for ten seconds more. */
const lifetimeMs: Readonly<Record<Exclude<Access["is"], "allowed">, number>> = {
  unauthenticated: 10_000,
  forbidden: 10_000,
  unknown: 1000,
};

/** A handful of callers, each with the old and the new token after a renewal, and the wrong tokens that were tried. */
const mostAnswers = 256;

interface Answer {
  readonly access: Access;
  readonly untilMs: number;
  /** The last answer of the API server was positive, however old it is. */
  readonly wasAllowed: boolean;
}

/** Answers about tokens, by a hash of the token. Keeps a bounded number: the answer that was asked for longest ago goes first. */
export class AccessCache {
  readonly #answers = new Map<string, Answer>();
  readonly #allowedMs: number;

  /** `allowedMs`: how long a positive answer counts. */
  constructor(allowedMs: number) {
    this.#allowedMs = allowedMs;
  }

  /** undefined: there is no answer, or the answer is too old. */
  get(key: string, nowMs: number): Access | undefined {
    const found = this.#answers.get(key);
    if (found === undefined || found.untilMs <= nowMs) return undefined;
    this.#keepLast(key, found);
    return found.access;
  }

  wasAllowed(key: string): boolean {
    return this.#answers.get(key)?.wasAllowed ?? false;
  }

  set(key: string, access: Access, nowMs: number): void {
    // An API server that does not answer has not withdrawn a right.
    const wasAllowed = access.is === "allowed" || (access.is === "unknown" && this.wasAllowed(key));
    const counts = access.is === "allowed" ? this.#allowedMs : lifetimeMs[access.is];
    this.#keepLast(key, { access, untilMs: nowMs + counts, wasAllowed });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > mostAnswers && oldest !== undefined) this.#answers.delete(oldest);
  }

  #keepLast(key: string, answer: Answer): void {
    this.#answers.delete(key);
    this.#answers.set(key, answer);
  }
}
