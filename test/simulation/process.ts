/** A process of the simulation: code that runs in it sees its clocks and timers instead of those of the machine. */
import { AsyncLocalStorage } from "node:async_hooks";
import { longestTimerMs } from "../../src/runtime/timer.ts";
import type { VirtualTime } from "./virtual-time.ts";

const current = new AsyncLocalStorage<SimulatedProcess>();

/** The process whose code runs now; undefined: code of the test. */
export function currentProcess(): SimulatedProcess | undefined {
  return current.getStore();
}

/** The beginning of virtual time. */
const epochMs = Date.parse("2026-01-15T10:00:00Z");

export interface Clocks {
  /** Of the wall clock. */
  readonly skewMs: number;
  /** Seconds of the monotonic clock per second of virtual time. */
  readonly rate: number;
}

export class SimulatedProcess {
  readonly name: string;
  readonly random: () => number;
  /** Aborted when the story is over. */
  readonly over: AbortSignal;
  readonly #time: VirtualTime;
  readonly #rate: number;
  #skewMs: number;
  #isDead = false;
  #frozenUntilMs = 0;
  #timers = 0;
  #steps = 0;
  /** How often it has begun to lead, with caches that it listed for that. */
  terms = 0;
  /** Called before every step: before everything that arrives, and before every timer. */
  onStep: ((step: number) => void) | undefined;

  constructor(name: string, time: VirtualTime, clocks: Clocks, random: () => number) {
    this.name = name;
    this.#time = time;
    this.#rate = clocks.rate;
    this.#skewMs = clocks.skewMs;
    this.random = random;
    const over = new AbortController();
    this.over = over.signal;
    time.atEnd(() => this.run(() => over.abort()));
  }

  get wallMs(): number {
    return Math.floor(epochMs + this.#time.nowMs + this.#skewMs);
  }

  get monotonicMs(): number {
    return this.#time.nowMs * this.#rate;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  get isFrozen(): boolean {
    return this.#time.nowMs < this.#frozenUntilMs;
  }

  /** How many timers have fired since the last call. */
  takeTimers(): number {
    const timers = this.#timers;
    this.#timers = 0;
    return timers;
  }

  run<Result>(work: () => Result): Result {
    return current.run(this, work);
  }

  /** Nothing that the process waits for ever comes. */
  die(): void {
    this.#isDead = true;
  }

  freeze(ms: number): void {
    this.#frozenUntilMs = Math.max(this.#frozenUntilMs, this.#time.nowMs + ms);
  }

  moveWallClock(ms: number): void {
    this.#skewMs += ms;
  }

  /** Something arrives from outside. A frozen process finds it when it goes on. */
  deliver(arrive: () => void): void {
    if (this.#isDead) return;
    if (this.isFrozen) this.#time.after(this.#frozenUntilMs - this.#time.nowMs, () => this.deliver(arrive));
    else this.#step(arrive);
  }

  /** The result cancels the timer. */
  timer(wantedMs: number, fire: () => void): () => void {
    const delayMs = wantedMs >= 1 && wantedMs <= longestTimerMs ? wantedMs : 1;
    let cancel = this.#time.after(delayMs / this.#rate, () => expire());
    const expire = () => {
      if (this.#isDead) return;
      // A process that goes on handles what has arrived before it runs its timers.
      if (this.isFrozen) cancel = this.#time.after(this.#frozenUntilMs - this.#time.nowMs + 0.5, () => expire());
      else {
        this.#timers += 1;
        this.#step(fire);
      }
    };
    return () => cancel();
  }

  /** What the process does between two waits. */
  #step(work: () => void): void {
    this.#steps += 1;
    this.onStep?.(this.#steps);
    if (!this.#isDead) this.run(work);
  }
}
