import { nowWithSuspendMs, recentNowWithSuspendMs } from "../../runtime/suspend-clock.ts";

/** How soon after the machine woke up it is noticed that a connection was silent for too long. */
const lookEveryMs = 5000;

/**
 * Calls back once when nothing was heard for the limit, or up to 5 seconds later. A machine that was suspended counts, too: its
 * connections may be dead, and Node's timers stood still like the machine.
 */
export class SilenceTimer {
  readonly #limitMs: number;
  readonly #timer: NodeJS.Timeout;
  #heardAtMs = recentNowWithSuspendMs();

  constructor(limitMs: number, onSilence: () => void) {
    this.#limitMs = limitMs;
    this.#timer = setInterval(
      () => {
        if (nowWithSuspendMs() - this.#heardAtMs < this.#limitMs) return;
        this.stop();
        onSilence();
      },
      Math.min(limitMs, lookEveryMs),
    );
  }

  heard(): void {
    this.#heardAtMs = recentNowWithSuspendMs();
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
