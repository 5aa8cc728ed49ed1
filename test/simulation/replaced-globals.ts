/**
 * Replaces the clocks, timers and chance of Node. Code of a simulated process gets those of its process; all other code, such as that
 * of the test runner, gets those of Node.
 */
import { syncBuiltinESMExports } from "node:module";
import timersPromises from "node:timers/promises";
import { currentProcess, type SimulatedProcess } from "./process.ts";

const real = {
  Date: globalThis.Date,
  now: performance.now.bind(performance),
  random: Math.random,
  any: AbortSignal.any.bind(AbortSignal),
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  clearImmediate: globalThis.clearImmediate,
  promises: { setTimeout: timersPromises.setTimeout, setImmediate: timersPromises.setImmediate },
};

/** Until it is disposed of. */
export function replacedGlobals(): Disposable {
  Object.assign(globalThis, {
    Date: dateOfProcess(),
    setTimeout: startTimer,
    clearTimeout: endTimer,
    setInterval: startInterval,
    clearInterval: endTimer,
    setImmediate: (callback: (...args: unknown[]) => void, ...args: unknown[]) => {
      const process = currentProcess();
      return process === undefined ? real.setImmediate(callback, ...args) : startTimer(callback, 0, ...args);
    },
    clearImmediate: (timer: unknown) => {
      if (timer instanceof SimulatedTimer) timer.end();
      else real.clearImmediate(timer as NodeJS.Immediate);
    },
  });
  performance.now = () => currentProcess()?.monotonicMs ?? real.now();
  AbortSignal.any = anySignal;
  Math.random = () => currentProcess()?.random() ?? real.random();
  Object.assign(timersPromises, { setTimeout: sleep, setImmediate: (value?: unknown) => sleep(0, value) });
  syncBuiltinESMExports();
  return { [Symbol.dispose]: restore };
}

function restore(): void {
  const { now: _now, random: _random, any: _any, promises: _promises, ...globals } = real;
  Object.assign(globalThis, globals);
  Reflect.deleteProperty(performance, "now");
  Math.random = real.random;
  AbortSignal.any = real.any;
  Object.assign(timersPromises, real.promises);
  syncBuiltinESMExports();
}

function dateOfProcess(): DateConstructor {
  return new Proxy(real.Date, {
    construct: (target, args) => {
      const process = currentProcess();
      const given = args.length === 0 && process !== undefined ? [process.wallMs] : args;
      return Reflect.construct(target, given) as Date;
    },
    get: (target, name) => {
      if (name === "now") return () => currentProcess()?.wallMs ?? real.Date.now();
      return Reflect.get(target, name) as unknown;
    },
  });
}

/**
 * Node keeps a signal of several sources for as long as it has listeners and is not aborted. Those of a process that was killed would keep its
 * whole story: 2 MB, of which an hour has thousands.
 */
function anySignal(signals: readonly AbortSignal[]): AbortSignal {
  const process = currentProcess();
  return real.any(process === undefined ? [...signals] : [...signals, process.over]);
}

/** As a Timeout of Node, as far as our code uses it. */
class SimulatedTimer {
  readonly #start: () => () => void;
  #cancel: () => void;

  constructor(process: SimulatedProcess, delayMs: number, fire: () => void) {
    this.#start = () => process.timer(delayMs, fire);
    this.#cancel = this.#start();
  }

  end(): void {
    this.#cancel();
  }

  refresh(): this {
    this.#cancel();
    this.#cancel = this.#start();
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

function startTimer(callback: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]): unknown {
  const process = currentProcess();
  if (process === undefined) return real.setTimeout(callback, delayMs, ...args);
  return new SimulatedTimer(process, delayMs, () => callback(...args));
}

function startInterval(callback: (...args: unknown[]) => void, intervalMs = 0, ...args: unknown[]): unknown {
  const process = currentProcess();
  if (process === undefined) return real.setInterval(callback, intervalMs, ...args);
  const timer = new SimulatedTimer(process, intervalMs, () => {
    timer.refresh();
    callback(...args);
  });
  return timer;
}

/** Node, too, ends either kind of timer with either function. */
function endTimer(timer: unknown): void {
  if (timer instanceof SimulatedTimer) timer.end();
  else real.clearTimeout(timer as NodeJS.Timeout);
}

function sleep(delayMs?: number, value?: unknown, options?: { readonly signal?: AbortSignal }): Promise<unknown> {
  const process = currentProcess();
  if (process === undefined) return real.promises.setTimeout(delayMs, value, options);
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const { signal } = options ?? {};
  const abort = () => {
    cancel();
    // As Node does it.
    reject(Object.assign(new Error("The operation was aborted"), { name: "AbortError", cause: signal?.reason }));
  };
  const cancel = process.timer(delayMs ?? 1, () => {
    signal?.removeEventListener("abort", abort);
    resolve(value);
  });
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  return promise;
}
