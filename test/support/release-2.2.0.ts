/** The release and the definition that 2.2.0 leaves, for tests that upgrade from it and roll back to it. */
import { cpSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import { s3Endpoint } from "../../lab/s3.ts";
import type { Cluster } from "./cluster.ts";
import type { HelmRelease } from "./helm-release.ts";

const tests = join(import.meta.dirname, "..");

/** The chart of 2.2.0 with its values. */
export function chartOf220(scratch: string): string {
  const chart = join(scratch, "chart-2.2.0");
  cpSync(join(tests, "fixtures/chart-2.2.0"), chart, { recursive: true });
  cpSync(join(tests, "chart/stored-values/2.2.0.yaml"), join(chart, "values.yaml"));
  return chart;
}

/** Release and definition as in a cluster that has never seen anything newer. Gives the revision. */
export async function goBackTo220(cluster: Cluster, helm: HelmRelease, chart: string): Promise<string> {
  // Applied on the server, as Helm 4 does it with releases of its own; what follows goes the same way.
  const flags = ["--server-side=true", "--force-conflicts", "--wait"];
  await helm.upgradeTo(chart, "--reset-values", "--set", `s3.endpointUrl=${s3Endpoint}`, ...flags);
  await definitionOf220(cluster);
  return await helm.revision();
}

export async function definitionOf220(cluster: Cluster): Promise<void> {
  await cluster.kubectl("replace", "-f", join(tests, "fixtures/definition-2.2.0.yaml"));
  // Until the API server has changed over, it answers that the storage is initializing.
  await vi.waitFor(() => cluster.kubectl("get", "s3pa"), { timeout: 240_000, interval: 200 });
}

/** Every program of this driver runs, and none of 2.2.0. */
export async function untilPresent(cluster: Cluster): Promise<void> {
  for (const object of ["daemonset/s3-csi-node", "deployment/s3-csi-controller"])
    await cluster.kubectl("rollout", "status", "-n", "kube-system", object, "--timeout=240s");
}
