/** A real Prometheus in the network of the lab, which scrapes the driver and judges the rules of the chart. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { vi } from "vitest";
import { stringify } from "yaml";
import type { Pod } from "../../src/kube/kinds.ts";
import { chartDirectory, only, render } from "../chart/rendered-chart.ts";
import type { Cluster } from "./cluster.ts";
import { freePort } from "./free-port.ts";

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The ports of the programs that serve metrics of the driver. */
const ports: Readonly<Record<string, readonly number[]>> = { "s3-csi-node": [9808], "s3-csi-controller": [9809, 9810] };

export class LabPrometheus implements AsyncDisposable {
  readonly #url: string;
  readonly #end: () => Promise<void>;

  private constructor(url: string, end: () => Promise<void>) {
    this.#url = url;
    this.#end = end;
  }

  /** Scrapes every second. Returns when it has scraped every program once. */
  static async start(cluster: Cluster): Promise<LabPrometheus> {
    const directory = await mkdtemp(join(tmpdir(), "s3-csi-prometheus-"));
    const port = await freePort();
    const targets = await targetsIn(cluster);
    const config = {
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      rule_files: [join(chartDirectory, "monitoring/rules.yaml")],
      // As the Prometheus operator does it: targets have the namespace of the driver's Pods.
      scrape_configs: [
        {
          job_name: "s3-csi",
          honor_labels: honorsLabels(),
          static_configs: [{ targets, labels: { namespace: "kube-system" } }],
        },
      ],
    };
    const configFile = join(directory, "prometheus.yml");
    await writeFile(configFile, stringify(config));
    const child = spawn(
      "prometheus",
      [
        `--config.file=${configFile}`,
        `--storage.tsdb.path=${join(directory, "data")}`,
        `--web.listen-address=127.0.0.1:${port}`,
        "--log.level=error",
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
    const ended = once(child, "exit");
    const prometheus = new LabPrometheus(`http://127.0.0.1:${port}`, async () => {
      child.kill("SIGKILL");
      await ended;
      await rm(directory, { recursive: true });
    });
    await vi.waitFor(
      async () => {
        const up = await prometheus.query("up == 1");
        if (up.length !== targets.length) throw new Error(`${up.length} of ${targets.length} programs were scraped`);
      },
      { timeout: 240_000, interval: 500 },
    );
    return prometheus;
  }

  async query(query: string): Promise<readonly Sample[]> {
    const response = await fetch(`${this.#url}/api/v1/query?${new URLSearchParams({ query }).toString()}`);
    const { data, error } = (await response.json()) as {
      readonly data?: { readonly result: readonly { metric: Sample["metric"]; value: readonly [number, string] }[] };
      readonly error?: string;
    };
    if (data === undefined) throw new Error(`${query}: ${error}`);
    return data.result.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }));
  }

  /** The sum over all series of the answer; 0 without any. */
  async sum(query: string): Promise<number> {
    return (await this.query(query)).reduce((sum, { value }) => sum + value, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end();
  }
}

/** As the chart's ServiceMonitor says. */
function honorsLabels(): boolean {
  const monitor = only(render({ "serviceMonitor.enabled": "true" }), "ServiceMonitor");
  const endpoints = monitor["spec"].endpoints as readonly { port: string; honorLabels?: boolean }[];
  return endpoints.find(({ port }) => port === "metrics")?.honorLabels ?? false;
}

async function targetsIn(cluster: Cluster): Promise<readonly string[]> {
  const addresses = await Promise.all(
    Object.entries(ports).map(async ([app, of]) => {
      const pods = await cluster.list<Pod & { status?: { podIP?: string } }>(
        "pods",
        "-n",
        "kube-system",
        "-l",
        `app=${app}`,
      );
      return pods.flatMap(({ status }) => of.map((port) => `${status?.podIP}:${port}`));
    }),
  );
  return addresses.flat();
}
