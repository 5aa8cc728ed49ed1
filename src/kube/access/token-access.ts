/** SE-7. Lets the API server decide who may read what a program serves, without a request for every reader. */
import { createHash } from "node:crypto";
import type { Access } from "../../core/access.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import type { Secret } from "../../runtime/secret.ts";
import { ProblemLog } from "../problem-log.ts";
import { AccessCache } from "./access-cache.ts";
import { type Reviewer, type Right, reviewAccess } from "./review-access.ts";
import { ReviewLimit } from "./review-limit.ts";

/** Below the 10 s that Prometheus waits by default. */
const reviewLimitMs = 5000;

export interface Guarded {
  /** For the log, such as `/metrics`. */
  readonly what: string;
  /** A caller needs all of them. */
  readonly rights: readonly Right[];
  /** How long a positive answer counts, and thus a right that was withdrawn. */
  readonly allowedMs: number;
}

/**
 * Guarantees a bounded number of requests to the API server: one for the token and one for each right in the time that a positive answer
 * counts, and a few a minute for all tokens that are not allowed. Tokens are neither kept nor logged. Access is unknown, and therefore
 * must be refused, while the API server does not answer.
 */
export class TokenAccess {
  readonly #client: Reviewer;
  readonly #guarded: Guarded;
  readonly #cache: AccessCache;
  readonly #limit = new ReviewLimit();
  readonly #reviews = new Map<string, Promise<Access>>();
  readonly #problems = new ProblemLog();

  constructor(client: Reviewer, guarded: Guarded) {
    this.#client = client;
    this.#guarded = guarded;
    this.#cache = new AccessCache(guarded.allowedMs);
  }

  /** Never rejects. `address` is that of the caller. The call is that of the program: several callers may wait for one review. */
  async of(call: Call, token: Secret, address: string, nowMs = performance.now()): Promise<Access> {
    const key = createHash("sha256").update(token.reveal()).digest("base64");
    const known = this.#cache.get(key, nowMs) ?? this.#reviews.get(key);
    if (known !== undefined) return await known;
    // A caller whose token was allowed is reviewed again however many wrong tokens arrive.
    const isLimited = !this.#cache.wasAllowed(key);
    if (isLimited && !this.#limit.take(address, nowMs)) {
      return { is: "unknown", because: "too many unknown tokens: this one was not checked, try again later" };
    }
    const review = this.#review(call, token);
    this.#reviews.set(key, review);
    const access = await review;
    this.#reviews.delete(key);
    this.#cache.set(key, access, nowMs);
    const isUser = access.is === "allowed" || access.is === "forbidden";
    if (isLimited && isUser) this.#limit.giveBack(address);
    return access;
  }

  async #review(call: Call, token: Secret): Promise<Access> {
    const { what } = this.#guarded;
    using limited = deadline(call, reviewLimitMs, "the API server to check a token");
    try {
      const access = await reviewAccess(limited, this.#client, token, this.#guarded.rights);
      this.#problems.resolve(what);
      return access;
    } catch (error) {
      if (!call.signal.aborted) {
        this.#problems.report(call.log, what, "tokens cannot be checked", { what, error });
      }
      return { is: "unknown", because: "the API server could not be asked whether this token may be used" };
    }
  }
}
