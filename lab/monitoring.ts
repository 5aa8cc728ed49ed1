/** A Prometheus in the lab that scrapes the driver and has the rules of the chart, as with the operator. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { stringify } from "yaml";
import { chart, driverNamespace } from "./install-driver.ts";
import type { Lab } from "./lab.ts";
import type { Progress } from "./progress.ts";
import { prometheusFiles, prometheusUrl } from "./prometheus.ts";
import { attempt } from "./run.ts";

/**
 * Returns when it has scraped every program of the driver. One that runs already is started again: with the rules as they are now, and with
 * the addresses of Pods as they are now, because Debian builds Prometheus without its discovery in Kubernetes.
 */
export async function startMonitoring(signal: AbortSignal, lab: Lab, progress: Progress): Promise<void> {
  await progress.task("start Prometheus with the rules of the chart", async () => {
    const { config, data } = prometheusFiles(lab.layout);
    mkdirSync(data, { recursive: true });
    const targets = await targetsIn(signal, lab);
    writeFileSync(config, stringify(configOf(targets)));
    const prometheus = lab.component("prometheus");
    await prometheus.restart(signal);
    // `up` of a target exists after its first scrape.
    const all = `count(up{job="${job}"} == 1) == ${targets.length}`;
    const seen = ["promtool", "query", "instant", prometheusUrl, all];
    for (;;) {
      const { code, stdout } = await attempt(lab.inNetwork(seen), { signal });
      if (code === 0 && stdout.trim() !== "") return;
      if (prometheus.process === undefined) throw new Error(`Prometheus ended: ${prometheus.log().trim()}`);
      await delay(500, undefined, { signal });
    }
  });
}

const job = "s3-csi";

/** The ports of the programs that serve metrics, by their names in the chart. */
const portNames = new Set(["healthz", "csi-healthz", "prov-healthz", "ui-healthz"]);

interface Pod {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly containers: readonly {
      readonly name: string;
      readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[];
    }[];
  };
  readonly status: { readonly podIP?: string };
}

/** With the labels that the operator gives them. */
async function targetsIn(signal: AbortSignal, lab: Lab): Promise<readonly object[]> {
  const selector = "app in (s3-csi-node,s3-csi-controller,s3-csi-ui)";
  const list = await lab.kubectl(["get", "pods", "-n", driverNamespace, "-l", selector, "-o", "json"], { signal });
  const { items } = JSON.parse(list) as { readonly items: readonly Pod[] };
  return items.flatMap(({ metadata: { name: pod, namespace }, spec, status }) =>
    spec.containers.flatMap(({ name: container, ports = [] }) =>
      ports
        .filter(({ name = "" }) => portNames.has(name))
        .map(({ containerPort }) => ({
          targets: [`${status.podIP}:${containerPort}`],
          labels: { namespace, pod, container },
        })),
    ),
  );
}

function configOf(targets: readonly object[]): object {
  return {
    global: { scrape_interval: "5s", evaluation_interval: "5s" },
    rule_files: [join(chart, "monitoring/rules.yaml")],
    // As in the ServiceMonitor: namespaces of volumes are those of their claims.
    scrape_configs: [{ job_name: job, honor_labels: true, static_configs: targets }],
  };
}
