/** Flags and environment → the configuration of the program that serves the page, or every mistake at once. */
import { defaultMountpointNamespace } from "../core/names.ts";
import { healthPort, metricsSettings } from "../csi/settings.ts";
import { type ApiLocation, apiLocationFrom, apiSettings } from "../kube/client/api-location.ts";
import { verbosity } from "../runtime/log-settings.ts";
import { integer, names, text } from "../runtime/settings/kinds.ts";
import { type Environment, readSettings, type Settings } from "../runtime/settings/settings.ts";
import type { PageAddress } from "./page-server.ts";

export interface UiConfig {
  readonly api: ApiLocation;
  readonly address: PageAddress;
  /** How the page calls the cluster. */
  readonly clusterName: string;
  readonly mountpointNamespace: string;
  /** Where node plugins serve metrics without authorisation; undefined: the page shows no rates. */
  readonly ratesFrom: { readonly driverNamespace: string; readonly port: number } | undefined;
  /** Undefined: no probes are answered. */
  readonly healthPort: number | undefined;
  /** Served on the health port. */
  readonly metrics: boolean;
  readonly metricsAuthorization: boolean;
  readonly verbosity: number;
}

const declared = {
  port: { flag: "port", kind: integer({ min: 0, max: 65_535 }), default: 8080 },
  hosts: { flag: "hosts", kind: names, default: [] },
  tls: { flag: "tls-dir", kind: text },
  mostViewers: { flag: "max-viewers", kind: integer({ min: 1, max: 1000 }), default: 50 },
  clusterName: { flag: "cluster-name", kind: text, default: "" },
  mountpointNamespace: { flag: "mountpoint-namespace", kind: text, default: defaultMountpointNamespace },
  ratesFrom: { flag: "rates-from-namespace", kind: text },
  ...apiSettings,
  healthPort,
  ...metricsSettings,
  verbosity,
} as const satisfies Settings;

/** Throws one Error that names every mistake. */
export function uiConfigFrom(args: readonly string[], env: Environment): UiConfig {
  const settings = readSettings(declared, { args, env }, [apiLocationFrom]);
  const { port, hosts, tls, mostViewers, clusterName, mountpointNamespace } = settings;
  return Object.freeze<UiConfig>({
    api: apiLocationFrom(settings),
    address: { port, hosts: hosts.map((host) => host.toLowerCase()), tls, mostViewers },
    clusterName,
    mountpointNamespace,
    ratesFrom: settings.ratesFrom === undefined ? undefined : { driverNamespace: settings.ratesFrom, port: 9808 },
    healthPort: settings.healthPort,
    metrics: settings.metrics,
    metricsAuthorization: settings.metricsAuthorization,
    verbosity: settings.verbosity,
  });
}
