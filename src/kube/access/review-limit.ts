/** How many unknown tokens may be reviewed: over all callers, and for one address. */

interface Rate {
  readonly atOnce: number;
  /** One more after each of these. */
  readonly everyMs: number;
}

const overall: Rate = { atOnce: 20, everyMs: 1000 };
/** One sender of wrong tokens must not use up the reviews of all others. */
const ofAddress: Rate = { atOnce: 5, everyMs: 5000 };
const mostAddresses = 256;

export class ReviewLimit {
  readonly #overall = new Allowance(overall);
  readonly #byAddress = new Map<string, Allowance>();

  /** Whether a token that this address sent may be reviewed now. */
  take(address: string, nowMs: number): boolean {
    const own = this.#byAddress.get(address) ?? new Allowance(ofAddress);
    this.#byAddress.delete(address);
    this.#byAddress.set(address, own);
    const [oldest] = this.#byAddress.keys();
    if (this.#byAddress.size > mostAddresses && oldest !== undefined) this.#byAddress.delete(oldest);
    return own.take(nowMs) && this.#overall.take(nowMs);
  }

  /** The token belonged to a user: many users may come through one proxy. The limit over all callers still counts the review. */
  giveBack(address: string): void {
    this.#byAddress.get(address)?.giveBack();
  }
}

class Allowance {
  readonly #rate: Rate;
  #left: number;
  #atMs: number | undefined;

  constructor(rate: Rate) {
    this.#rate = rate;
    this.#left = rate.atOnce;
  }

  take(nowMs: number): boolean {
    const { atOnce, everyMs } = this.#rate;
    this.#left = Math.min(atOnce, this.#left + (nowMs - (this.#atMs ?? nowMs)) / everyMs);
    this.#atMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  giveBack(): void {
    this.#left = Math.min(this.#rate.atOnce, this.#left + 1);
  }
}
