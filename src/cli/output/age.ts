/** How long ago, in the manner of kubectl: 45s, 12m, 5h, 3d. */
export function age(since: string | undefined, now: string): string {
  const seconds = Math.floor((Date.parse(now) - Date.parse(since ?? "")) / 1000);
  if (Number.isNaN(seconds)) return "";
  if (seconds < 120) return `${Math.max(0, seconds)}s`;
  if (seconds < 120 * 60) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}
