/** `./dev up --monitoring`: a Prometheus in the lab that scrapes the driver with the rules of the chart. */
import { expect, it } from "vitest";
import { startMonitoring } from "../../lab/monitoring.ts";
import type { Progress } from "../../lab/progress.ts";
import { prometheusUrl } from "../../lab/prometheus.ts";
import { openCluster } from "../support/cluster.ts";

const cluster = openCluster();
const quiet: Progress = { task: (_title, work) => work({ at: () => undefined }), say: () => undefined };

interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly health: string }[] }[];
}

it("OP-3 the lab's Prometheus finds every program of the driver and judges the rules of the chart", async () => {
  const signal = AbortSignal.timeout(240_000);
  const prometheus = cluster.lab.component("prometheus");
  const wasRunning = prometheus.process !== undefined;
  await startMonitoring(signal, cluster.lab, quiet);
  try {
    const up = await answer<{ result: { metric: Record<string, string> }[] }>("query?query=up");
    const containers = up.result.map(({ metric }) => metric["container"] ?? "");
    const programs = ["csi-provisioner", "s3-csi-controller", "s3-plugin", "s3-pod-reconciler"];
    expect([...new Set(containers)].toSorted()).toEqual(programs);
    expect(containers.filter((name) => name === "s3-plugin")).toHaveLength(cluster.lab.nodes.length);
    // A rule is `unknown` until it is judged for the first time.
    const states = async () =>
      (await answer<Rules>("rules")).groups.flatMap(({ rules }) => rules).map((rule) => rule.health);
    await expect.poll(async () => [...new Set(await states())]).toEqual(["ok"]);
  } finally {
    if (!wasRunning) await prometheus.stop(signal);
  }
});

async function answer<Data>(path: string): Promise<Data> {
  const response = await fetch(`${prometheusUrl}/api/v1/${path}`);
  return ((await response.json()) as { readonly data: Data }).data;
}
