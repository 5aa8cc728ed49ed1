/** Amounts of resources as Kubernetes writes them: `500m`, `1.5`, `2e3`, `64Mi`, `1G`. */

export const mebibyte = 2 ** 20;

/** As a number: cores for CPU, bytes for memory and storage. undefined: not an amount, or a negative one. */
export function parseQuantity(text: string): number | undefined {
  const [, digits, exponent, unit = ""] = quantity.exec(text) ?? [];
  const factor = factors[unit];
  if (digits === undefined || factor === undefined) return undefined;
  return Number(`${digits}${exponent ?? ""}`) * factor;
}

/** An exponent and a unit exclude each other; `E` alone is a unit. */
const quantity = /^\+?(\d+\.?\d*|\.\d+)(?:([eE][-+]?\d{1,2})|([a-zA-Z]{1,2}))?$/;

const factors: Readonly<Record<string, number>> = {
  "": 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};
