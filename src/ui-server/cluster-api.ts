import type { KubeClient } from "../kube/client/client.ts";
import type { ClusterApi } from "../page/cluster-api.ts";
import type { Logger } from "../runtime/log.ts";

/** The API server as this program's own account sees it. `context` is how the page calls the cluster. */
export function clusterApiOf(client: Pick<KubeClient, "text" | "lines">, log: Logger, context: string): ClusterApi {
  return {
    context,
    json: async <Shape>(signal: AbortSignal, { path }: { readonly path: string }) =>
      JSON.parse(await client.text({ signal, log }, path)) as Shape,
    lines: (signal, path) => client.lines({ signal, log }, path),
  };
}
