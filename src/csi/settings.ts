/** Where a program serves CSI calls, kubelet's probes and metrics. */
import { integer, type Kind, toggle } from "../runtime/settings/kinds.ts";
import type { Setting, Settings } from "../runtime/settings/settings.ts";
import { isEndpoint } from "./endpoint.ts";

const endpointText: Kind<string> = {
  expected: "unix:/path or tcp://host:port",
  parse: (text) => (isEndpoint(text) ? text : undefined),
  refusesEmpty: true,
};

export const endpoint = {
  flag: "endpoint",
  kind: endpointText,
  default: "unix:///tmp/csi.sock",
} as const satisfies Setting;

/** Absent under manifests of 2.x: a sidecar answers the probes there. */
export const healthPort = { flag: "health-port", kind: integer({ min: 0, max: 65_535 }) } as const satisfies Setting;

/** Metrics are served on the health port. */
export const metricsSettings = {
  metrics: { flag: "metrics", kind: toggle, default: false },
  metricsAuthorization: { flag: "metrics-authorization", kind: toggle, default: false },
} as const satisfies Settings;
