/** The kubeconfig as kubectl finds it: flag, KUBECONFIG, the home directory, or the account of a Pod. */
import { KubeConfig } from "@kubernetes/client-node";
import { UserError } from "../user-error.ts";
import { ApiServer } from "./api-server.ts";

export interface Login {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
}

export function logIn({ kubeconfig, context }: Login): ApiServer {
  const config = new KubeConfig();
  if (kubeconfig === undefined) config.loadFromDefault();
  else config.loadFromFile(kubeconfig);
  if (context !== undefined) {
    if (config.getContextObject(context) === null) {
      const known = config.getContexts().map(({ name }) => name);
      throw new UserError(`--context ${context} is not in the kubeconfig`, `use one of: ${known.join(", ")}`);
    }
    config.setCurrentContext(context);
  }
  const cluster = config.getCurrentCluster();
  // Without a kubeconfig, and outside of a Pod, the library falls back to this address.
  if (cluster === null || cluster.server === "http://localhost:8080")
    throw new UserError(
      "there is no kubeconfig, or it names no cluster",
      "choose a context with --context, or set KUBECONFIG",
    );
  return new ApiServer(config, cluster.server);
}
