/** Reads what node plugins count, as long as somebody looks at the page. */
import { elapsed } from "./elapsed.ts";
import { type Rates, type RatesByPod, RateWindow, type Totals, totalsIn } from "./rates.ts";

/** Pods of node plugins, by whatever the source needs to read them. */
export interface FigureSource<Plugin> {
  /** Rejects if they cannot be found. */
  readonly plugins: (signal: AbortSignal) => Promise<readonly Plugin[]>;
  /** The metrics of one; rejects if they are off, or not for this reader. */
  readonly metrics: (signal: AbortSignal, plugin: Plugin) => Promise<string>;
}

export interface RatesFollower {
  readonly isWatched: () => boolean;
  readonly onRates: (rates: RatesByPod) => void;
}

/** As often as `mount-s3` exports. */
const paceMs = 15_000;
/** Without any answer metrics are off, or not for this reader. */
const fruitlessPaceMs = 120_000;
const requestLimitMs = 10_000;
const atOnce = 8;
/** Each answer is up to megabytes: in larger clusters Prometheus has the rates. */
const mostPlugins = 200;

/** Resolves when the signal aborts; never rejects: rates that cannot be read are not shown. */
export async function followRates<Plugin>(
  signal: AbortSignal,
  source: FigureSource<Plugin>,
  { isWatched, onRates }: RatesFollower,
): Promise<void> {
  let window = new RateWindow();
  let shown = false;
  while (!signal.aborted) {
    let pauseMs = paceMs;
    if (isWatched()) {
      const totals = await readTotals(signal, source);
      if (totals === undefined) {
        if (shown) onRates({});
        shown = false;
        window = new RateWindow();
        pauseMs = fruitlessPaceMs;
      } else {
        onRates(window.add({ atMs: performance.now(), totals }));
        shown = true;
      }
    }
    await elapsed(signal, pauseMs);
  }
}

/** Undefined: no node plugin has any for this reader. */
async function readTotals<Plugin>(signal: AbortSignal, source: FigureSource<Plugin>): Promise<Totals | undefined> {
  const limited = () => AbortSignal.any([signal, AbortSignal.timeout(requestLimitMs)]);
  let plugins: readonly Plugin[];
  try {
    plugins = await source.plugins(limited());
  } catch {
    return undefined; // the connection to the API server is reported by those who follow the cluster
  }
  if (plugins.length > mostPlugins) return undefined;
  const left = plugins.values();
  const totals = new Map<string, Rates>();
  let answers = 0;
  const work = async () => {
    for (const plugin of left) {
      try {
        for (const [pod, counted] of totalsIn(await source.metrics(limited(), plugin))) totals.set(pod, counted);
        answers += 1;
      } catch {
        // A node that does not answer has no rates; its health is shown by what it reports to the API server.
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return answers === 0 ? undefined : totals;
}
