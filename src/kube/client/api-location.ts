/** Where the API server is. */
import { text } from "../../runtime/settings/kinds.ts";
import type { Settings } from "../../runtime/settings/settings.ts";
import { type Credentials, inClusterCredentials, kubeconfigCredentials } from "./credentials.ts";

export type ApiLocation =
  | { readonly kubeconfig: string }
  /** As kubelet passes it to every container of the cluster. */
  | { readonly host: string; readonly port: string };

export const apiSettings = {
  kubeconfig: { flag: "kubeconfig", kind: text },
  apiHost: { variable: "KUBERNETES_SERVICE_HOST", kind: text },
  apiPort: { variable: "KUBERNETES_SERVICE_PORT", kind: text, default: "443" },
} as const satisfies Settings;

interface ApiValues {
  readonly kubeconfig: string | undefined;
  readonly apiHost: string | undefined;
  readonly apiPort: string;
}

/** Throws if the program runs outside of a cluster and has no kubeconfig. */
export function apiLocationFrom({ kubeconfig, apiHost, apiPort }: ApiValues): ApiLocation {
  if (kubeconfig !== undefined) return { kubeconfig };
  if (apiHost !== undefined) return { host: apiHost, port: apiPort };
  throw new Error("KUBERNETES_SERVICE_HOST is not set: run this program in a Pod, or with --kubeconfig");
}

/** Reads the kubeconfig, if there is one: throws if that cannot be used. */
export function credentialsAt(location: ApiLocation): Credentials {
  return "kubeconfig" in location ? kubeconfigCredentials(location.kubeconfig) : inClusterCredentials(location);
}
