/** How much goes through Mountpoint Pods, where their node plugins can be read. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { type Rates, type RatesByPod } from "../page/rates.ts";
import type { MountpointPodView, VolumeView } from "../topology/topology.ts";
import { bytesPerSecond, trafficText, volumeRates } from "./rate-texts.ts";

export const RatesContext = createContext<RatesByPod>({});

/** Of one Mountpoint Pod: a line, or nothing if its rates are not known. */
export function Traffic({ pod }: { readonly pod: MountpointPodView }) {
  const rates: Rates | undefined = useContext(RatesContext)[pod.name];
  return rates === undefined ? null : <p class="quiet traffic">{trafficText(rates)}</p>;
}

/** Of all Mountpoint Pods of a volume: bytes read and written. */
export function VolumeTraffic({ volume }: { readonly volume: VolumeView }) {
  const rates = volumeRates(volume, useContext(RatesContext));
  return <>{rates === undefined ? "–" : bytesPerSecond(rates.readBytes + rates.writtenBytes)}</>;
}
