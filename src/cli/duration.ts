import { UserError } from "./user-error.ts";

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of a duration such as 90s, 10m, 2h or 1d. */
export function secondsOf(text: string, flag: string): number {
  const [, count, unit = ""] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (units[unit] ?? Number.NaN);
  if (seconds > 0) return seconds;
  throw new UserError(`${flag} ${text} is not a duration`, "use a number and a unit, such as 90s, 10m, 2h or 1d");
}
