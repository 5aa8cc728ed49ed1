/** The maintenance window of a rollout, in UTC. Pure. */

export interface Window {
  /** Minutes since midnight. An end that is not after the start is on the next day. */
  readonly start: number;
  readonly end: number;
  /** The days on which it begins: 0 is Sunday. */
  readonly days: readonly number[];
}

const names = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const dayMs = 86_400_000;

/** From `{start: "22:00", end: "04:00", days: ["Sat"]}`; undefined: it is not a window. Without days it opens every day. */
export function windowFrom(value: unknown): Window | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { start, end, days = names } = value as Readonly<Record<string, unknown>>;
  const [from, to] = [minuteOf(start), minuteOf(end)];
  if (from === undefined || to === undefined || !Array.isArray(days)) return undefined;
  const numbers = days.map((day) => names.indexOf(day as string));
  return numbers.length === 0 || numbers.includes(-1) ? undefined : { start: from, end: to, days: numbers };
}

function minuteOf(time: unknown): number | undefined {
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(String(time)) ?? [];
  return hours === undefined ? undefined : 60 * Number(hours) + Number(minutes);
}

/** 0: it is open. */
export function untilOpenMs(window: Window, now: Date): number {
  if (isOpen(window, now)) return 0;
  const midnight = now.getTime() - (now.getTime() % dayMs);
  const starts = Array.from({ length: 8 }, (_, day) => midnight + day * dayMs + 60_000 * window.start);
  const next = starts.find((at) => at > now.getTime() && window.days.includes(new Date(at).getUTCDay()));
  return (next ?? now.getTime() + dayMs) - now.getTime();
}

function isOpen({ start, end, days }: Window, now: Date): boolean {
  const minute = Math.floor((now.getTime() % dayMs) / 60_000);
  const today = now.getUTCDay();
  const beganToday = days.includes(today) && minute >= start;
  if (start < end) return beganToday && minute < end;
  return beganToday || (days.includes((today + 6) % 7) && minute < end);
}
