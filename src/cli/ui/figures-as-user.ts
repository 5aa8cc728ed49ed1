import type { FigureSource } from "../../page/follow-rates.ts";
import type { Pod } from "../../topology/objects.ts";
import { paths } from "../../topology/paths.ts";
import type { ApiServer } from "../api/api-server.ts";

/** In the chart: the port of the node plugin with its metrics. */
const port = 9808;

/** Through the API server, with the right of the user to `get` `pods/proxy`. The API server drops the user's token on the way. */
export function figuresAsUser(api: ApiServer, driverNamespace: string): FigureSource<Pod> {
  const pods = paths.pods(driverNamespace);
  return {
    plugins: async (signal) => await api.list<Pod>(signal, pods, { query: { labelSelector: "app=s3-csi-node" } }),
    metrics: async (signal, { metadata }) =>
      await api.text(signal, { path: `${pods}/${metadata.name}:${port}/proxy/metrics` }),
  };
}
