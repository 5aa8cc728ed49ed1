/** Pure: rates in words. */
import { noRates, type Rates, type RatesByPod } from "../page/rates.ts";
import type { VolumeView } from "../topology/topology.ts";

const units = ["B/s", "KiB/s", "MiB/s", "GiB/s"] as const;

export function bytesPerSecond(value: number): string {
  const power = value < 1 ? 0 : Math.min(Math.floor(Math.log2(value) / 10), units.length - 1);
  const shown = value / 1024 ** power;
  return `${power === 0 || shown >= 100 ? shown.toFixed(0) : shown.toFixed(1)} ${units[power] ?? ""}`;
}

export function trafficText({ readBytes, writtenBytes, requests, errors }: Rates): string {
  const parts = [
    `reads ${bytesPerSecond(readBytes)}`,
    `writes ${bytesPerSecond(writtenBytes)}`,
    `${requests.toFixed(1)} requests/s`,
    ...(errors > 0 ? [`${errors.toFixed(1)} errors/s`] : []),
  ];
  return parts.join(" · ");
}

/** Undefined: the rates of no Mountpoint Pod are known. */
export function volumeRates({ attachments }: VolumeView, rates: RatesByPod): Rates | undefined {
  const pods = attachments.flatMap(({ mountpointPods }) => mountpointPods);
  const known = pods.flatMap(({ name }) => rates[name] ?? []);
  if (known.length === 0) return undefined;
  return known.reduce(
    (sum, each) => ({
      readBytes: sum.readBytes + each.readBytes,
      writtenBytes: sum.writtenBytes + each.writtenBytes,
      requests: sum.requests + each.requests,
      errors: sum.errors + each.errors,
    }),
    noRates,
  );
}
