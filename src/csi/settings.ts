/** Where a program serves CSI calls and kubelet's probes. */
import { integer, type Kind } from "../runtime/settings/kinds.ts";
import type { Setting } from "../runtime/settings/settings.ts";
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
