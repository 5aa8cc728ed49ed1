/** SE-7. Lets the API server decide who may read a path of a program, without a request for every reader. */
import { createHash } from "node:crypto";
import type { Access } from "../../core/access.ts";
import { type Call, deadline } from "../../runtime/call.ts";
import type { Secret } from "../../runtime/secret.ts";
import { ProblemLog } from "../problem-log.ts";
import { AccessCache } from "./access-cache.ts";
import { type Reviewer, reviewAccess } from "./review-access.ts";
import { ReviewLimit } from "./review-limit.ts";

/** Below the 10 s that Prometheus waits by default. */
const reviewLimitMs = 5000;

/**
 * Guarantees at most two requests to the API server in a minute for a token that is allowed, and a bounded number for all others. Tokens
 * are neither kept nor logged. Access is unknown, and therefore must be refused, while the API server does not answer.
 */
export class PathAccess {
  readonly #client: Reviewer;
  readonly #path: string;
  readonly #cache = new AccessCache();
  readonly #limit = new ReviewLimit();
  readonly #reviews = new Map<string, Promise<Access>>();
  readonly #problems = new ProblemLog();

  constructor(client: Reviewer, path: string) {
    this.#client = client;
    this.#path = path;
  }

  /** Never rejects. `address` is that of the caller. The call is that of the program: several callers may wait for one review. */
  async of(call: Call, token: Secret, address: string, nowMs = performance.now()): Promise<Access> {
    const key = createHash("sha256").update(token.reveal()).digest("base64");
    const known = this.#cache.get(key, nowMs) ?? this.#reviews.get(key);
    if (known !== undefined) return await known;
    // A scraper whose token was allowed is reviewed again however many wrong tokens arrive.
    if (!this.#cache.wasAllowed(key) && !this.#limit.take(address, nowMs)) {
      return { is: "unknown", because: "too many unknown tokens: this one was not checked, try again later" };
    }
    const review = this.#review(call, token);
    this.#reviews.set(key, review);
    const access = await review;
    this.#reviews.delete(key);
    this.#cache.set(key, access, nowMs);
    return access;
  }

  async #review(call: Call, token: Secret): Promise<Access> {
    using limited = deadline(call, reviewLimitMs, "the API server to check a token");
    try {
      const access = await reviewAccess(limited, this.#client, token, this.#path);
      this.#problems.resolve(this.#path);
      return access;
    } catch (error) {
      if (!call.signal.aborted) {
        this.#problems.report(call.log, this.#path, "tokens cannot be checked", { path: this.#path, error });
      }
      return { is: "unknown", because: "the API server could not be asked whether this token may be used" };
    }
  }
}
