/** Pure: what node plugins count for each Mountpoint Pod (docs/reference/metrics.md) → how much that is per second. */

/** Of one Mountpoint Pod, per second. */
export interface Rates {
  readonly readBytes: number;
  readonly writtenBytes: number;
  /** Of `mount-s3` to the object store. */
  readonly requests: number;
  /** Requests that the object store refused. */
  readonly errors: number;
}

/** By the name of the Mountpoint Pod. */
export type RatesByPod = Readonly<Record<string, Rates>>;

/** What was counted until a moment, by the name of the Mountpoint Pod. */
export type Totals = ReadonlyMap<string, Rates>;

export const noRates: Rates = { readBytes: 0, writtenBytes: 0, requests: 0, errors: 0 };

/** From the text format of Prometheus. Other lines are skipped. */
export function totalsIn(text: string): Totals {
  const totals = new Map<string, Rates>();
  for (const [, metric = "", labels = "", value = ""] of text.matchAll(sample)) {
    const field = fieldOf(metric, labels);
    const pod = /mountpoint_pod="([a-z0-9.-]+)"/.exec(labels)?.[1];
    const counted = Number(value);
    if (field === undefined || pod === undefined || !(counted >= 0)) continue;
    const before = totals.get(pod) ?? noRates;
    totals.set(pod, { ...before, [field]: before[field] + counted });
  }
  return totals;
}

const sample = /^s3_csi_volume_(bytes|s3_requests|s3_errors)_total\{([^\n]*)\} ([0-9.e+]+)$/gm;

function fieldOf(metric: string, labels: string): keyof Rates | undefined {
  if (metric === "s3_requests") return "requests";
  if (metric === "s3_errors") return "errors";
  if (labels.includes('operation="read"')) return "readBytes";
  return labels.includes('operation="write"') ? "writtenBytes" : undefined;
}

interface Sample {
  readonly atMs: number;
  readonly totals: Totals;
}

/** `mount-s3` exports every 15 seconds, so shorter differences would show nothing and then twice as much. */
const windowMs = 60_000;

/** The rates of the last minute. */
export class RateWindow {
  #samples: readonly Sample[] = [];

  add(latest: Sample): RatesByPod {
    this.#samples = [...this.#samples.filter(({ atMs }) => latest.atMs - atMs <= windowMs), latest];
    const rates = [...latest.totals].map(([pod, now]) => [pod, this.#ratesOf(pod, now, latest.atMs)] as const);
    return Object.fromEntries(rates.filter(([, each]) => each !== undefined)) as RatesByPod;
  }

  /** Undefined: counted for the first time, or `mount-s3` has begun again at zero. */
  #ratesOf(pod: string, now: Rates, atMs: number): Rates | undefined {
    const first = this.#samples.find(({ totals }) => {
      const then = totals.get(pod);
      return then !== undefined && fields.every((field) => then[field] <= now[field]);
    });
    const then = first?.totals.get(pod);
    if (first === undefined || then === undefined || first.atMs === atMs) return undefined;
    const perSecond = (field: keyof Rates) =>
      Math.round((10_000 * (now[field] - then[field])) / (atMs - first.atMs)) / 10;
    return {
      readBytes: perSecond("readBytes"),
      writtenBytes: perSecond("writtenBytes"),
      requests: perSecond("requests"),
      errors: perSecond("errors"),
    };
  }
}

const fields = ["readBytes", "writtenBytes", "requests", "errors"] as const satisfies readonly (keyof Rates)[];
