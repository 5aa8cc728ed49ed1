/** An API server under load recovers within seconds, one that is upgraded within a minute. */
const reportAfterMs = 60_000;
/** A workload that is deleted while its requests are refused leaves an entry behind. The oldest entries are forgotten. */
const rememberedRefusals = 10_000;

/**
 * 429, 500, 503 and 504 are the state of the API server, or of a webhook behind it. A user gets an event about it only if it keeps a
 * workload waiting for more than a minute, and then one.
 */
export class LastingRefusals {
  /** By workload and volume, in the order of the first refusal. */
  readonly #refused = new Map<string, { readonly sinceMs: number; isReported: boolean }>();

  /** The caller calls this for every refusal. Returns true if the refusal has to be reported now. */
  isReportDue(key: string): boolean {
    const known = this.#refused.get(key);
    if (known === undefined) {
      this.#refused.set(key, { sinceMs: performance.now(), isReported: false });
      const { value: oldest } = this.#refused.keys().next();
      if (this.#refused.size > rememberedRefusals && oldest !== undefined) this.#refused.delete(oldest);
      return false;
    }
    if (known.isReported || performance.now() - known.sinceMs < reportAfterMs) return false;
    known.isReported = true;
    return true;
  }

  /** The caller calls this after every success. */
  ended(key: string): void {
    this.#refused.delete(key);
  }
}
