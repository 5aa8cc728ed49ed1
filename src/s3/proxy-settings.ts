/** The proxy between the driver and the object store. */
import type { Proxy } from "../core/volume/proxy.ts";
import { text } from "../runtime/settings/kinds.ts";
import type { Settings } from "../runtime/settings/settings.ts";

/** The driver's programs reach the API server without a proxy, so the usual names of these variables would do harm. */
export const proxySettings = {
  httpsProxy: { variable: "MOUNTPOINT_HTTPS_PROXY", kind: text },
  httpProxy: { variable: "MOUNTPOINT_HTTP_PROXY", kind: text },
  noProxy: { variable: "MOUNTPOINT_NO_PROXY", kind: text },
} as const satisfies Settings;

interface ProxyValues {
  readonly httpsProxy: string | undefined;
  readonly httpProxy: string | undefined;
  readonly noProxy: string | undefined;
}

export function proxyFrom({ httpsProxy, httpProxy, noProxy }: ProxyValues): Proxy {
  return {
    ...(httpsProxy && { HTTPS_PROXY: httpsProxy }),
    ...(httpProxy && { HTTP_PROXY: httpProxy }),
    ...(noProxy && { NO_PROXY: noProxy }),
  };
}
