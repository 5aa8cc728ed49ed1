import os from "node:os";

/** Tests replace `performance.now`, and a suspended machine has to be found with the real one. */
const monotonicMs = performance.now.bind(performance);
const bootedMs = () => 1000 * os.uptime();
const offsetMs = bootedMs() - monotonicMs();
/** The uptime has a resolution of 10 ms, and both clocks are read one after the other. */
const resolutionMs = 100;

/**
 * `performance.now()`, and the time that the machine was suspended on top. Linux stops CLOCK_MONOTONIC while the machine sleeps, and with
 * it `performance.now()` and every timer; the uptime (CLOCK_BOOTTIME) goes on. Use this clock where other machines count on while this
 * one sleeps: how long a lease is ours, and how long a server has been silent. Never for the length of work.
 *
 * A virtual machine that its host stops does not notice that by any clock: what must not happen then has to be refused by the server.
 */
export function nowWithSuspendMs(): number {
  const suspendedMs = bootedMs() - monotonicMs() - offsetMs;
  return performance.now() + (suspendedMs > resolutionMs ? suspendedMs : 0);
}
