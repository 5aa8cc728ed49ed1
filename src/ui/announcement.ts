/** Pure: what a screen reader says after an update. */
import type { Health, VolumeView } from "../topology/topology.ts";

export const healthWords: Readonly<Record<Health, string>> = {
  problem: "Problem",
  waiting: "Waiting",
  ok: "OK",
  idle: "Idle",
};

/** A burst is summed up: a reader who hears 50 sentences turns the page off. */
const mostNamed = 3;

/** Empty: nothing that one must hear. */
export function announcementOf(before: readonly VolumeView[], after: readonly VolumeView[]): string {
  const known = new Map(before.map(({ name, health }) => [name, health]));
  const changed = after.filter(({ name, health }) => known.get(name) !== health);
  const present = new Set(after.map(({ name }) => name));
  const removed = before.filter(({ name }) => !present.has(name));
  if (changed.length + removed.length > mostNamed) return summaryOf(changed, removed.length);
  return [
    ...changed.map(({ name, health }) => `${name}: ${healthWords[health]}.`),
    ...removed.map(({ name }) => `${name}: removed.`),
  ].join(" ");
}

function summaryOf(changed: readonly VolumeView[], removed: number): string {
  const problems = changed.filter(({ health }) => health === "problem").length;
  return `${changed.length + removed} volumes changed, ${problems} with a problem.`;
}
