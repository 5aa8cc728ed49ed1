/** Where the API server is, as flags and environment tell it. */
import type { Problems } from "../../runtime/problems.ts";
import { type Credentials, inClusterCredentials, kubeconfigCredentials } from "./credentials.ts";

export type ApiLocation =
  | { readonly kubeconfig: string }
  /** Of the Pod that we run in. */
  | { readonly host: string; readonly port: string };

export function apiLocationFrom(
  kubeconfig: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
  problems: Problems,
): ApiLocation {
  if (kubeconfig) return { kubeconfig };
  const missing = "KUBERNETES_SERVICE_HOST is not set: this program runs in a Pod, or with --kubeconfig";
  const host = problems.required(env["KUBERNETES_SERVICE_HOST"], missing);
  return { host, port: env["KUBERNETES_SERVICE_PORT"] || "443" };
}

export function credentialsAt(location: ApiLocation): Credentials {
  return "kubeconfig" in location ? kubeconfigCredentials(location.kubeconfig) : inClusterCredentials(location);
}
