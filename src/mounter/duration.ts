const unitMs: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

const part = String.raw`(\d+(?:\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns)`;
const whole = new RegExp(`^(?:${part})+$`, "u");

/** A duration as the flags of 2.x are written, such as `2m` or `1h30m`, in milliseconds; undefined if the text is not a duration. */
export function parseDurationMs(text: string): number | undefined {
  if (!whole.test(text)) return undefined;
  const parts = [...text.matchAll(new RegExp(part, "gu"))];
  return parts.reduce((total, [, amount, unit]) => total + Number(amount) * (unitMs[unit ?? ""] ?? 0), 0);
}
