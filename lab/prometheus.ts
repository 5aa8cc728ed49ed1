/** The command line of the lab's Prometheus, and where its files are. */
import { join } from "node:path";
import type { ComponentSpec } from "./component.ts";
import { type Layout, network } from "./layout.ts";

/** In the network of the lab. */
export const prometheusUrl = `http://127.0.0.1:${network.prometheusPort}`;

export function prometheusComponent(layout: Layout): readonly ComponentSpec[] {
  return [
    {
      name: "prometheus",
      onDemand: true,
      argv: [
        "prometheus",
        `--config.file=${prometheusFiles(layout).config}`,
        `--storage.tsdb.path=${prometheusFiles(layout).data}`,
        `--web.listen-address=127.0.0.1:${network.prometheusPort}`,
        "--log.level=warn",
      ],
    },
  ];
}

export function prometheusFiles({ state }: Layout): { readonly config: string; readonly data: string } {
  const directory = join(state, "prometheus");
  return { config: join(directory, "prometheus.yml"), data: join(directory, "data") };
}
