import os from "node:os";

/** The clock of the boot: it goes on while the machine sleeps, and a program that is started again reads the same time. */
export const bootTimeMs = () => 1000 * os.uptime();

/** Tests replace `performance.now`, and a suspended machine has to be found with the real one. */
const monotonicMs = performance.now.bind(performance);
const offsetMs = bootTimeMs() - monotonicMs();
/** The uptime has a resolution of 10 ms, and both clocks are read one after the other. */
const resolutionMs = 100;
/** Each look at the uptime reads a file in /proc, which was six per cent of the CPU time of a reconciler that attaches workloads. */
const recentMs = 10;
let readAtMs = -Infinity;
let suspendedMs = 0;

/**
 * `performance.now()`, and the time that the machine was suspended on top. Linux stops CLOCK_MONOTONIC while the machine sleeps, and with
 * it `performance.now()` and every timer; the uptime (CLOCK_BOOTTIME) goes on. Use this clock where other machines count on while this
 * one sleeps: how long a lease is ours, and how long a server has been silent. Never for the length of work.
 *
 * A virtual machine that its host stops does not notice that by any clock: what must not happen then has to be refused by the server.
 */
export function nowWithSuspendMs(): number {
  readAtMs = monotonicMs();
  const offMs = bootTimeMs() - readAtMs - offsetMs;
  suspendedMs = offMs > resolutionMs ? offMs : 0;
  return performance.now() + suspendedMs;
}

/**
 * As `nowWithSuspendMs`, but it may miss a suspension until the program has run for 10 ms after it: for what happens very often, where an
 * earlier time than the true one does no harm.
 */
export function recentNowWithSuspendMs(): number {
  return monotonicMs() - readAtMs < recentMs ? performance.now() + suspendedMs : nowWithSuspendMs();
}
